"""The words and phrases that the embedded judges know. English; apostrophes are dropped ("dont").

Each list is a cue with a name. A cue says nothing by itself: the weights (`judge_weights.py`) or the rules of a judge
decide what it means. Words are common ones, never taken from one project.
"""


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


def _phrases(text: str) -> tuple[tuple[str, ...], ...]:
    return tuple(tuple(phrase.split()) for phrase in text.split("|"))


SENTENCE = "¶"
"""The mark that stands for a sentence's or a line's beginning in a list of tokens."""

FILLERS = _words(
    "ok okay k yeah yes yep yup no nope nah hmm hm uh uhh um ah oh well so now also then and but "
    "please pls great good nice cool "
    "perfect thanks thank alright right actually just first next finally lastly again sorry hey hi "
    "wait maybe perhaps hmmm mmm "
    "mmmk sure question quick fine awesome excellent still btw fyi plus because once kindly go ahead let me"
)
"""Words that stand before what a sentence really says."""

ACKNOWLEDGEMENTS = _words(
    "yes yeah yep yup ya y ok okay k kk sure fine good great nice cool perfect thanks thank you thx ty "
    "awesome excellent exactly "
    "agreed right correct lgtm alright proceed continue go ahead it do please that this lets for done "
    "sounds with works looks "
    "follow through your recommendations recommendation suggestion suggestions give a try implement so "
    "no nope now both all on "
    "keep going next carry and wonderful amazing approved confirmed confirm accept accepted sorry much "
    "very well is i am"
)
"""A short prompt of these words alone acknowledges; it asks for nothing of its own."""
ACKNOWLEDGING_STARTS = _words(
    "yes yeah yep yup ya y ok okay k kk sure fine good great nice cool perfect thanks thank thx ty "
    "awesome excellent exactly agreed "
    "right correct lgtm alright proceed continue go do sounds looks done both all keep carry no nope "
    "wonderful amazing approved "
    "confirmed confirm accept accepted sorry please"
)
ACKNOWLEDGEMENT_WORDS_MAX = 8

VERBS: dict[str, frozenset[str]] = {
    "fix": _words("fix resolve repair solve correct debug address handle patch unbreak adress"),
    "add": _words(
        "add implement create build make introduce support allow enable generate integrate extend "
        "include provide expose design "
        "develop scaffold setup insert append install"
    ),
    "change": _words(
        "change update set modify adjust tweak bump use put move rename edit replace swap switch "
        "convert mark turn increase "
        "decrease reduce limit wrap format align reword rewrite undo revert disable restore stage "
        "unstage improve keep"
    ),
    "remove": _words("remove delete drop strip hide clean cleanup get rid skip ignore avoid stop"),
    "refactor": _words(
        "refactor simplify extract consolidate restructure reorganize dedupe deduplicate inline split "
        "decouple modularize unify "
        "generalize migrate rework abstract centralize merge"
    ),
    "look": _words(
        "look check see investigate find search figure explore examine inspect trace track analyze "
        "analyse diagnose "
        "research dig compare identify determine list verify confirm validate consider count read"
    ),
    "review": _words("review critique audit assess evaluate proofread judge cr reviewing"),
    "explain": _words("explain tell describe show clarify summarize summarise elaborate walk remind teach"),
    "plan": _words(
        "plan propose suggest brainstorm think outline sketch architect spec draft discuss ultrathink recommend"
    ),
    "test": _words("test tests cover exercise assert"),
    "operate": _words(
        "run commit push rebase deploy release publish start launch execute rerun open close link stash pull checkout"
    ),
    "write": _words("write document note record save draft copy paste translate"),
    "do": _words("do proceed continue go try complete finish apply work follow start"),
}
"""What a sentence asks to do, by its verb."""

WORD_CUES: dict[str, frozenset[str]] = {
    "symptom": _words(
        "error errors fail fails failed failing failure broken break breaks broke crash crashes "
        "crashed crashing bug bugs wrong "
        "incorrect incorrectly issue issues problem problems exception panic panics stuck hang hangs "
        "leak leaks missing "
        "unexpected unexpectedly weird strange flaky regression corrupt corrupted denied timeout "
        "timeouts stale duplicated "
        "duplicate twice silently lost overwritten inconsistent invalid misleading confusing fault defect"
    ),
    "negated": _words(
        "doesnt dont isnt wont cant didnt not never cannot arent shouldnt wasnt nothing no without instead"
    ),
    "cause": _words("why cause causes causing caused reason root because origin culprit underlying"),
    "test": _words(
        "test tests testing tested coverage unit integration e2e assert assertion assertions verify verified suite ci"
    ),
    "check": _words(
        "pass passes passing green lint linter build builds compile compiles validate validates confirm ensure ensures"
    ),
    "accept": _words("expected expect expects acceptance criteria criterion must exactly succeed succeeds"),
    "plan": _words(
        "plan plans planning design proposal propose approach approaches options steps step phase "
        "phases architecture strategy spec roadmap rfc adr"
    ),
    "scope": _words("only just except scope limit limited specifically single without leave untouched unchanged alone"),
    "where": _words(
        "file files function functions method methods class classes module modules component "
        "components package line "
        "lines section page screen button endpoint route table column field flag command "
        "config script test header "
        "variable parameter param argument arg struct interface type readme docs folder "
        "directory branch label comment"
    ),
    "structure": _words(
        "duplicate duplicated duplication duplicates dry cleaner readable maintainable maintainability "
        "complexity complex simpler redundant reuse "
        "shared helper logic monolith coupling unused dead consistent consistency "
        "abstraction tidy verbose clutter cleanup"
    ),
    "review": _words(
        "review reviews reviewer feedback pr diff comments findings branch changes critique observations nits severity"
    ),
    "novel": _words(
        "new feature features support ability capability functionality option mode command endpoint page integration"
    ),
    "want": _words("want wants need needs should would must like wish prefer lets supposed"),
    "wonder": _words(
        "wondering wonder think thought guess suppose maybe might possible possibly feel opinion idea ideas"
    ),
    "question": _words("what where which who when how why does is are"),
    "reason": _words("because since so otherwise therefore currently instead given context background"),
    "given": _words("eg example examples like such similar same following below above based according pattern"),
    "small": _words(
        "label text wording typo color name title string comment message default value constant "
        "version readme docs copy spelling "
        "casing indentation whitespace icon logo link margin padding font width height"
    ),
    "git": _words("commit push merge rebase branch pr cherry stash tag release checkout"),
    "vague": _words("it this that these those them thing things stuff something everything"),
    "user": _words("user users customer customers developer developers people"),
    "severity": _words("severity critical medium low high minor major nit warning suggestion priority"),
    "conditional": _words("if when whenever after before while unless until"),
    "english": _words(
        "the a an to of in is are it this that for with on and or not be as at by from we you i can "
        "should have has do does did was "
        "were will would could if when what how why where which there but so then than my our your its me us"
    ),
}

PHRASE_CUES: dict[str, tuple[tuple[str, ...], ...]] = {
    "plan_given": _phrases(
        "following plan|the plan|this plan|a plan|plan mode|files to modify|files to change|steps|"
        "step 1|phase 1|"
        "phase 2|phase 3|implementation plan|plan to|lets plan|implementation steps"
    ),
    "plan_asked": _phrases(
        "propose|can you propose|think about|think through|before you|before implementing|before we|"
        "before you start|how would you|"
        "how would we|what would|options for|dont code|dont implement|without doing|"
        "without changing|dont change|what effort|design doc|"
        "ask any questions|ask questions|come up with|best way|best approach|"
        "what do you think|any suggestions|any ideas|lets discuss|lets talk|"
        "first explore|explore first"
    ),
    "goal_given": _phrases(
        "so that|in order to|should be|should not|shouldnt be|should only|should also|should have|"
        "should show|should return|should use|must be|must not|needs to|"
        "need to be|want to|we want|i want|id like|i would like|instead of|"
        "rather than|the goal|to be able|make sure|such that|expected|"
        "has to|have to|supposed to|would be better|lets use|lets make|lets add"
    ),
    "symptom_only": _phrases(
        "still see|still get|still getting|still not|still failing|getting this|get this|got this|"
        "i see|im getting|i get|i got|not working|doesnt work|"
        "does not work|didnt work|is broken|is failing|are failing|this error|"
        "an error|the error|im seeing|keeps|no longer|running into|ran into|"
        "there is a bug|bug with|not found|unable to|fails with"
    ),
    "cause_asked": _phrases(
        "root cause|why is|why are|why does|why do|why did|why was|why would|why isnt|why doesnt|"
        "why not|the cause|the reason|what is causing|what causes|"
        "whats causing|how come|what is happening|whats happening|what happened|"
        "figure out|find out|explain why|because of|due to|the issue is|"
        "the problem is|the issue was|underlying|caused by|leads to|the reason"
    ),
    "check_asked": _phrases(
        "make sure|add test|add tests|add a test|a test|some tests|unit test|unit tests|"
        "integration test|integration tests|test coverage|tests pass|test cases|"
        "table tests|test case|should pass|must pass|run the tests|run tests|"
        "run lint|write tests|write a test|fails before|acceptance criteria|"
        "expected output|"
        "regression test|e2e tests|more tests|test for|tests for|tests to|"
        "verify that|be tested|is tested|more coverage|mise run|npm test|go test|"
        "cargo test|make test|failing test|run pytest|run jest|run vitest|run mypy|run eslint|run tox|run phpunit|"
        "run rspec|run ctest|make check|the suite|test suite|stay green|is green|must compile|must build|"
        "before you stop|before you finish|still pass|still passes|still works|still builds|still compiles|"
        "must return|must exit|check that|verify with|confirm that|prove that"
    ),
    "scope_limit": _phrases(
        "only for|only in|only the|dont touch|do not touch|dont change|do not change|no change|"
        "no changes|nothing else|leave the|leave it|just the|"
        "just for|except for|other than|not the|but not|out of scope|in scope|"
        "this branch|this pr|the changes|this file|in the|for now|at least|"
        "only when|only if"
    ),
    "review_asked": _phrases(
        "review the|review this|review these|can you review|code review|pr review|pull request|"
        "review pr|double check|look over|proof read|the changes|changes in|take a look|"
        "is every|are all|are there any|any issues|this branch|feedback on|"
        "what do you think|current pull|current git|git status|any remaining"
    ),
    "look_asked": _phrases(
        "look at|look into|can you check|can you look|check if|check whether|check the|let me know|"
        "find out|figure out|tell me|do you see|can you see|can you find|dig into|compare the|"
        "what is happening|research"
    ),
    "explain_asked": _phrases(
        "can you explain|explain me|explain the|explain how|explain what|tell me|what does|what is|"
        "what are|what do|how does|how do|how is|how are|how did|how many|where is|where are|where do|"
        "where does|which one|"
        "difference between|is it|is there|is this|is that|are there|are we|"
        "do we|do you|does it|does this|does the|did you|did we|will it|would it|"
        "would that|could it|wouldnt it|isnt it|isnt that|shouldnt it|what if|"
        "what about|right ?|or ?|correct ?|no ?|what happens|is the|have we"
    ),
    "refactor_asked": _phrases(
        "move the|move this|move it|extract the|extract this|consider extracting|get rid|"
        "instead of having|single place|one place|code duplication|clean up|split into|split the|"
        "pull out|into a|"
        "duplicates the|duplicates similar|same logic|same code|"
        "can be simplified|could be simplified|be reused|reuse the|"
        "shared helper|rename the|convert to|replace the|use the"
    ),
    "feature_asked": _phrases(
        "add support|add a|add an|a new|new command|new feature|be able|support for|allow users|"
        "implement a|implement the|a flag|an option|a way|can we add|create a|we should also|build a|"
        "would be nice|be nice"
    ),
    "small_asked": _phrases(
        "rename|change the|can we use|lets use|use the|lets do|lets remove|remove the|delete the|"
        "update the|commit this|commit these|create a pr|the message|the wording|the name|"
        "add a comment|add some tests|add tests|default to|lets start|do option|address the|"
        "can you update|can you add|can you remove|no need|we dont need|dont need"
    ),
    "answered": _phrases(
        "option 1|option 2|option 3|option 4|lets go|go with|lets do|lets try|your recommendation|"
        "sounds good|do it|make it so|agree with|i agree|i prefer|id go"
    ),
    "accepting": _phrases(
        "thank you|works now|it works|works great|looks good|that works|works well|working now|"
        "all good|well done|good job|nice work|that did|did it|sounds good|much better|is perfect|"
        "love it"
    ),
    "correcting": _phrases(
        "thats not|that is not|not what|no ,|this is wrong|thats wrong|is wrong|is incorrect|"
        "not correct|isnt right|is not right|not quite|i meant|i mean|i said|i asked|you forgot|"
        "you missed|"
        "you didnt|you did not|why did you|dont do|undo that|undo this|revert that|"
        "revert this|roll back|try again|do it again|no , i|stop|actually no|"
        "doesnt seem|wrong|you broke|"
        "i told|as i said|you are overcomplicating|thats too|not like|no need|"
        "that did nothing|again , this|didnt you"
    ),
    "failing": _phrases(
        "still not|still see|still get|still getting|still failing|still fails|still broken|"
        "not working|doesnt work|does not work|didnt work|did not work|did nothing|same error|"
        "same issue|same problem|"
        "failing now|is failing|are failing|broke|now i get|now im getting|now getting|"
        "another error|new error|it fails|still wrong|still there|still the"
    ),
    "undoing": _phrases("undo|roll back|rollback|revert|git revert|restore the|put back|take back|go back"),
    "shifting": _phrases(
        "new topic|different topic|next task|next thing|next issue|next problem|the next|new change|"
        "new task|new feature|another issue|another thing|another bug|another task|"
        "something else|separate issue|unrelated|moving on|lets move|now lets|ok now|"
        "ok next|now , lets|switch to|a different|back to|now with|one more thing|"
        "following plan"
    ),
    "continuing": _phrases(
        "also|and also|this one|that one|the first|the second|the other|the same|as well|instead|still|"
        "again|the above|you said|you mentioned|you suggested|you proposed|your|"
        "these|those|the test|the tests|it|they|them|too|now you|what about|"
        "how about|fix 1|fix 2|fix 3|address"
    ),
}

OPENERS: dict[tuple[str, ...], str] = {
    **{(word,): "wh" for word in ("what", "whats", "where", "wheres", "which", "who", "when", "whose")},
    **{(word,): "how" for word in ("how", "hows")},
    ("why",): "why",
    **{
        (modal, who): f"ask_{who}"
        for modal in ("can", "could", "would", "should", "shall", "cant", "couldnt", "shouldnt", "may")
        for who in ("you", "we", "i")
    },
    **{
        (word,): "is"
        for word in (
            "is",
            "are",
            "was",
            "were",
            "isnt",
            "arent",
            "wasnt",
            "does",
            "do",
            "did",
            "doesnt",
            "didnt",
            "dont",
            "has",
            "have",
            "had",
            "will",
            "would",
            "could",
            "can",
            "should",
            "wouldnt",
            "wont",
            "am",
        )
    },
    ("dont", "we"): "is",
    **{(word,): "lets" for word in ("lets", "let's")},
    **{
        (who, verb): "want"
        for who in ("i", "we")
        for verb in ("want", "need", "must", "should", "would", "have", "wanna", "prefer")
    },
    ("id",): "want",
    ("id", "like"): "want",
    ("we", "are"): "state",
    **{
        ("i", verb): "report"
        for verb in (
            "see",
            "get",
            "got",
            "just",
            "still",
            "tried",
            "ran",
            "have",
            "noticed",
            "saw",
            "found",
            "had",
            "was",
        )
    },
    ("im",): "report",
    ("ive",): "report",
    **{
        (word,): "conditional"
        for word in (
            "if",
            "when",
            "after",
            "before",
            "while",
            "in",
            "for",
            "given",
            "since",
            "as",
            "with",
            "on",
            "looking",
            "instead",
        )
    },
    **{
        (word,): "state"
        for word in (
            "the",
            "this",
            "that",
            "it",
            "its",
            "these",
            "those",
            "there",
            "theres",
            "we",
            "they",
            "my",
            "our",
            "your",
            "you",
            "i",
            "a",
            "an",
            "all",
            "some",
            "here",
        )
    },
    **{(word,): "forbid" for word in ("dont", "never", "stop")},
}
"""How a sentence opens, by its first word or two; the longer match wins."""

ASKING = frozenset({"ask_you", "ask_we", "lets", "want", "ask_i"})
"""Openers after which the verb of the request stands."""

FOREIGN_WORDS = _words(
    "der die das und ist nicht ich wir sie ein eine den dem mit auf für bitte kannst warum wie soll "
    "wird noch aber oder wenn dass "
    "le la les un une des est pas je nous vous et que qui dans pour avec sur ce cette mais ou où "
    "comment pourquoi il elle faut "
    "el los las una es no yo nosotros y en por para con como pero cuando donde puedes quiero esta este "
    "del al lo se si "
    "o os não eu nós um uma em com como mas quando onde você está isso il che di non per sono questo "
    "gli nel della puoi "
    "de het een niet ik wij en dat voor met op maar waarom hoe kan je är och att det inte jag vi som "
    "på med den "
    "i nie w na że z się do jest co to jak dla bir ve bu için ne değil mi"
)
"""Function words of other languages in Latin script; those that are English words too are taken out below."""
FOREIGN_ONLY = (
    FOREIGN_WORDS
    - WORD_CUES["english"]
    - _words("die no i me on to do as an is in am was so si mi al per con com par o y z w e do en os des pas les ou ne")
)

VOCABULARY = _words(
    "again all also another any anything approach are available back because before better both branch "
    "but call can case change "
    "changed changes check clean code command comment comments commit config confirm consider content "
    "correct could create data "
    "default delete detail diff different directory do docs doesnt doing done dont each end ensure "
    "error even every exact example "
    "exists expected explain fail failed failing field file files find first fix fixed flag follow "
    "following for format found from "
    "function functions get give go going good got had handle happening has have help here how i if "
    "implement implementation in "
    "include instead into is issue it its just keep know last lets like line lines list log logic long "
    "look looking looks made make "
    "me mean message method missing mode more move my name need needs never new next no not nothing "
    "now of ok only option options or "
    "other our output package path pattern please plan point possible pr problem project prompt put "
    "question rather read really "
    "remove rename replace return review right root run same say see seems set should show simple "
    "since so some something specific "
    "start state step still stop string sure take tell test tests than that the their them then there "
    "these they thing things think "
    "this those time to too try two type update use used user users uses using value version via want "
    "was way we well were what "
    "when where which while who why will with without work working works would write wrong yes you "
    "your redundant suggest "
    "extract instead summary context goal overview current"
)
"""Single common words that the weights may use by themselves."""
