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


# Words and pairs of words that are features of a prompt; written by `python -m svc.judge_words`.
#
# In a pair ^ is a sentence's beginning and $ its end.

_WORDS = (
    "a able about above abstraction account accounts across actually adapt add adding address adds admin "
    "admins adr after afterwards again against agent agents agreed ahead align all allow allows almost "
    "already also alternatives although always am an analyze and another any anymore anything anywhere "
    "api app applied apply approach architecture are area argument arguments around arrives as ask asked "
    "assertion async at audit auth authentication automatically avatar await b back backend backup "
    "balancer banner bar base batch be because been before behave behaviour behind belongs below best "
    "better between big billing bit blank block body bot both box brainstorm branch branches break breaks "
    "broken browser bug bugs build builder builds bulk bump but button by c cache caching calculations "
    "call callback callbacks called callers calls can cancel cannot cant cargo cart carts case cases "
    "catalog cause causes center chain change changed changelog changes changing channel characters chart "
    "chat check checked checkout checks choose ci class classes clean cli click client clients clock "
    "close closed cmd code codebase color column columns come comes command commands comment comments "
    "commit commits compare compared component components computed concept config confirm conflicts "
    "connection connections cons consider consistency consistent console consolidate constant constants "
    "contacts contain container contains context continue convention convert copies copy core correct "
    "correctly could count counter cover covers crash crashes create critical critique cron css csv curl "
    "currency current currently cursor customers cut dark dashboard data database date dates day days db "
    "dead deadlock debug default defined delete deleted deletes demo denied depend dependency deploy "
    "deployed deprecated described description design dev diagram did didnt diff differ difference "
    "different directly directory discount discussed disk do doc docker dockerfile docs docstring "
    "document does doesnt doing done dont double down download draft drop drops dry dump duplicate "
    "duplicated duplicates duplication during e each early easier edit editor element else email emoji "
    "empty end endpoint ends english enough enter entries entry enum env err error errors even events "
    "every everything everywhere exactly example exception exist existing exists exit expectations "
    "expected expired explain explains explore export exports extend extra extract f fail failed failing "
    "fails fake feature feed feedback fetch few field fields figure file files filter find finding "
    "findings finds fine finish fires first fit five fix fixture flag flaky flatten flickering flow focus "
    "folder folders follow following font foo footer for forgot form format found fresh from frontend "
    "full function functions game gb generate generated generic get getting getuser git github gitignore "
    "give gives global go goal going gone good google got gpu great green grey group growth guidelines "
    "had half hand handle handled handler handlers handling happen happens happy hard has have he header "
    "heading health heap help helper helpers here hide high hint his history hit hm hmm holding holds "
    "hook hooks hour how html http i icon id idea ideas idiomatic if ifs ignore ignored ignores im image "
    "images implement implementation implementations import importer importers imports improve in include "
    "increase index infinite inheritance init injection input install installer instead integrate "
    "integration interface internal into introduce introduced invalid investigate invoice invoices ios is "
    "isnt issue issues it item items its javascript job jobs join js json just k keep keeps kept key "
    "keyboard know label landing language last latest layer layout lead leaks leave leaves left legacy "
    "length less let lets level lib library licence like limit limiter line lines link links lint linter "
    "list lists literal live load local locale localhost locally lock locked log logged logger logging "
    "logic login logo logs long look looks lookup loop loss lost low lower machine made mail mails main "
    "maintainability make makefile makes many map march markdown match max may maybe mb md me mean memory "
    "mention mentions menu merge merged merging message messages method metrics middle middleware migrate "
    "migration migrations minute minutes misses missing mixes mobile modal mode model models modify "
    "module modules moment monday money month more morning most move ms much multi must mutex my n name "
    "named names naming nearly need needed needs negative never new newest next nice nightly nit no "
    "nobody node non none nope not notes nothing notification notifications now npm null number numbers o "
    "oauth of off offline offset often ok old on onboarding once one ones only onto open opinion option "
    "optional options or order orders other others our ours out outdated outline output over overlaps "
    "overview overwrites overwritten own package packages page pages pagination parameter parse parsed "
    "parser parsing part parts pass passes password paste path paths pay payload payment payments pdf "
    "people per performance permission permissions phase phases pick pipeline pkg place places plain plan "
    "please plugin png point points policy polling polls pool port position possible post postgres "
    "potential pr practice prefer prefix press price prices pricing primary print prints private problem "
    "problems proceed process product products profile profiler program project projects proofread "
    "proposal propose pros provider providers proxy public pull push put py pytest query question queue "
    "race raise ran rate rather rb react read reading readme reads ready real really reason rebase "
    "recommend reconnect red reduce redundant refactor refactoring refresh regarding regex registry "
    "relative release released relevant remember remove removed removing rename renamed reorganize "
    "repeated replace replacing replica repo report reports repositories request requests research reset "
    "resolve response rest restart restructure result results resumable resume retries retry return "
    "returns review reviewer rewrite rfc rid right risk risks root rotated rounding route row rows rs run "
    "running runs rust s safe said same sandbox save say says scan scenarios scheduler schema screenshot "
    "script scripts sdk search second seconds section security see seen sees select send sense sent "
    "sentence separate server service services session set sets settings setup several severity sh share "
    "shared shell shop short shorter should shouldnt show shown shows side sidebar sign silent simplify "
    "since single size skip slack sleep slow small smaller snake snapshot so solves some someone "
    "something sort sorted source space spec split sql squash src stage staging stale standard start "
    "startup state stats status stay step steps still stop stops storage store stored strict strings "
    "struct structure style such suggest suggestion suggestions suite sum summarise summarize summary "
    "support sure swap switch sync system table tag tags take taken takes task tasks tax team tell temp "
    "template ten tenancy terraform test tested tests text textutil than that thats the their theirs them "
    "theme then there these they thing things think thinking third this those thought thoughts thread "
    "threads three through throws ticket time timeout title tmp to today todo toggle token tokens too "
    "tool tooltip top topic total totals touch trace track train tried trigger true try ts tsc turn twice "
    "two txt type typescript typing typo unclear undefined under understand understanding undo unify unit "
    "unknown until unused up update updates upgrade upload uploads url us usages use used user users uses "
    "using utc utils v valid validate validation value values var variable verification verify version "
    "view views visible vue w wait waits want warn warning warnings was watch watcher way ways we weather "
    "web webhook webhooks week weekly well were what whats when where whether which while who whole why "
    "will windows with without work worked worker workflow working works worth would wrap write writer "
    "writes writing written wrong wrote x yaml year yes yesterday yet you your zero zones "
)


_PAIRS = (
    ", a|, add|, after|, always|, an|, and|, are|, ask|, build|, but|, call|, can|, check|, commit|"
    ", correct|, did|, do|, does|, dont|, err|, especially|, file|, first|, go|, how|, i|, im|, implement|"
    ", in|, including|, is|, it|, its|, just|, keep|, lets|, list|, make|, no|, not|, nothing|, now|, one|"
    ", only|, or|, otherwise|, output|, pass|, please|, put|, rather|, read|, remove|, right|, run|, same|"
    ", see|, since|, so|, take|, that|, the|, then|, there|, they|, this|, tool|, update|, use|, user|"
    ", version|, we|, what|, when|, which|, while|, why|, with|, would|, write|, you|? $|? ?|^ ,|^ a|"
    "^ actually|^ add|^ additions|^ address|^ after|^ all|^ also|^ always|^ and|^ any|^ anything|^ are|"
    "^ as|^ audit|^ author|^ back|^ before|^ both|^ build|^ bump|^ but|^ by|^ cache|^ call|^ can|^ cant|"
    "^ change|^ changed|^ changes|^ check|^ ci|^ clean|^ code|^ come|^ command|^ comment|^ commit|"
    "^ compare|^ complete|^ consider|^ consolidate|^ context|^ continue|^ convert|^ core|^ correct|"
    "^ could|^ count|^ create|^ current|^ currently|^ d|^ debug|^ delete|^ deletions|^ did|^ didnt|^ diff|"
    "^ do|^ does|^ doesnt|^ dont|^ drop|^ dry|^ duplicate|^ duplicated|^ each|^ enable|^ error|^ errors|"
    "^ everything|^ expected|^ explain|^ explore|^ extend|^ extract|^ f|^ failed|^ feature|^ figure|"
    "^ file|^ files|^ find|^ first|^ fix|^ flatten|^ for|^ format|^ found|^ generate|^ get|^ give|^ go|"
    "^ goal|^ got|^ great|^ handle|^ have|^ he|^ here|^ high|^ hm|^ hmm|^ hook|^ how|^ i|^ id|^ if|^ ill|"
    "^ im|^ implement|^ in|^ install|^ instead|^ introduce|^ investigate|^ is|^ isnt|^ it|^ its|^ just|"
    "^ keep|^ let|^ lets|^ list|^ log|^ look|^ low|^ lower|^ make|^ maybe|^ medium|^ merge|^ messages|"
    "^ migrate|^ missing|^ move|^ multiple|^ need|^ new|^ next|^ no|^ nope|^ not|^ nothing|^ now|^ npm|"
    "^ ok|^ on|^ once|^ one|^ only|^ open|^ option|^ our|^ permission|^ plan|^ please|^ potential|^ print|"
    "^ problem|^ proceed|^ propose|^ provide|^ pull|^ push|^ put|^ question|^ quick|^ read|^ reading|"
    "^ rebase|^ reduce|^ refactor|^ regarding|^ remove|^ rename|^ replace|^ reset|^ return|^ review|"
    "^ rewrite|^ right|^ run|^ same|^ scan|^ see|^ select|^ send|^ set|^ setup|^ short|^ should|^ show|"
    "^ silent|^ simplify|^ since|^ so|^ something|^ sort|^ split|^ src|^ start|^ state|^ steps|^ still|"
    "^ stop|^ store|^ strings|^ suggest|^ summary|^ support|^ take|^ tell|^ test|^ tests|^ that|^ thats|"
    "^ the|^ then|^ there|^ theres|^ these|^ think|^ thinking|^ this|^ three|^ title|^ tmp|^ tool|^ total|"
    "^ track|^ turn|^ two|^ unknown|^ update|^ usage|^ use|^ user|^ users|^ using|^ verification|^ verify|"
    "^ version|^ wait|^ warning|^ we|^ were|^ what|^ whats|^ when|^ where|^ which|^ while|^ who|^ why|"
    "^ will|^ with|^ would|^ wouldnt|^ wrap|^ write|^ yeah|^ yes|^ you|^ your|a $|a ,|a backup|a better|"
    "a bit|a branch|a build|a call|a change|a clean|a cli|a code|a comment|a commit|a constant|a dark|"
    "a data|a date|a design|a directory|a dry|a feature|a few|a file|a folder|a friendlier|a full|"
    "a function|a general|a generic|a good|a helper|a hint|a json|a line|a link|a list|a login|a look|"
    "a lot|a machine|a markdown|a merge|a new|a number|a parameter|a plain|a plan|a pr|a problem|"
    "a project|a proposal|a provider|a race|a resolution|a script|a search|a second|a separate|a session|"
    "a shared|a short|a single|a small|a step|a suggestion|a summary|a table|a test|a time|a timeout|"
    "a user|a view|a way|able to|about $|about it|about the|about this|above $|across the|actions $|"
    "active ,|actually ,|add ,|add a|add an|add it|add logging|add some|add support|add test|add tests|"
    "add that|add the|add this|add unit|add up|added to|additions $|address $|address ,|address and|"
    "address the|address with|adjust the|after $|after a|after attempts|after each|after the|again $|"
    "again ,|again ?|again and|again with|against the|agent $|agents $|agents that|ahead $|ahead and|"
    "all $|all agents|all are|all in|all issues|all of|all providers|all tests|all that|all the|already $|"
    "already ?|already a|already exists|also add|also have|also in|also show|also update|an api|an empty|"
    "an endpoint|an error|an example|an hour|an import|an integration|an optional|an overview|analyze the|"
    "and $|and a|and add|and are|and can|and change|and check|and come|and commit|and cons|and find|"
    "and fix|and give|and have|and how|and i|and if|and in|and is|and it|and its|and let|and lets|"
    "and list|and make|and move|and never|and not|and now|and one|and propose|and put|and recommend|"
    "and report|and review|and run|and save|and say|and see|and show|and summarize|and sync|and tell|"
    "and tests|and that|and the|and time|and to|and update|and use|and validate|and verify|and we|"
    "and what|and when|and why|and write|any code|any more|any other|anymore $|anymore ,|anything $|"
    "anything ,|anything else|anything that|api $|api ,|api key|app $|app ,|apply $|apply the|approach $|"
    "approach is|approach to|architecture document|are all|are created|are done|are failing|are in|"
    "are missing|are no|are not|are only|are other|are sent|are still|are stored|are the|are there|"
    "are they|are used|are we|are you|area $|argument $|arguments $|as a|as an|as before|as docs|as it|"
    "as the|as well|ask the|at $|at a|at all|at lines|at startup|at that|at the|at this|attempts $|"
    "audit the|author $|automatically instead|await $|b $|b ,|back $|base class|based on|basically we|"
    "be ?|be a|be able|be an|be called|be in|be nice|be possible|be sure|be tested|be the|be to|be used|"
    "because the|before $|before ?|before doing|before the|before we|before writing|before you|"
    "behave like|better $|better ,|between and|between the|block $|both $|both ?|branch $|branch ,|"
    "branch ?|branch and|branch for|branch from|branch with|break anything|broken $|bug $|bug that|"
    "build $|build a|build fails|build is|build it|build that|build the|built $|bump the|burden $|but for|"
    "but if|but im|but in|but it|but keep|but leave|but never|but not|but now|but only|but that|but the|"
    "but then|but there|but this|but with|by date|by default|by file|by hand|by one|by step|by the|c $|"
    "cache $|cache is|call $|call it|call the|call to|called from|called twice|callers $|calling the|"
    "calls $|can be|can do|can i|can it|can see|can tell|can we|can you|cant be|cant we|care about|case $|"
    "case ,|case ?|case for|case where|cases for|cause $|change $|change ,|change ?|change anything|"
    "change in|change it|change so|change that|change the|change this|changed $|changed files|changed the|"
    "changelog $|changelog md|changes $|changes ,|changes and|changes are|changes in|changes on|"
    "characters $|chat $|check $|check ,|check ?|check again|check all|check how|check if|check out|"
    "check that|check the|check this|check what|check whether|checked out|checking for|checks $|ci $|"
    "ci is|class $|claude md|clean up|cleaned up|cli command|cli for|cli output|client ?|close $|cmd $|"
    "cmd package|code $|code ,|code ?|code and|code change|code duplication|code in|code path|code review|"
    "code should|code that|codebase $|come from|come up|comes from|command $|command ,|command for|"
    "command is|command line|command to|commands $|commands ,|comment $|comment on|comment says|"
    "comment that|comment to|commented out|comments $|comments and|comments on|commit $|commit ,|"
    "commit and|commit from|commit it|commit message|commit this|commits $|commits ,|commits and|"
    "compare the|compare to|compare with|config $|config ,|config files|config go|config in|config is|"
    "conflicts $|cons $|cons of|consider a|consider adding|consider removing|consider using|consistency $|"
    "consistency with|consistent with|console $|constant $|constants $|contain the|context $|context ,|"
    "continue with|convert the|copy of|copy the|correct ?|correctly ,|could be|could it|could we|"
    "could you|coverage $|covers the|crash when|create a|create an|create pkg|created $|ctrl c|"
    "current pull|cut $|dark mode|data $|data ,|data loss|data model|date $|date ,|date ?|date in|date or|"
    "day ,|db $|dead code|debug level|debug log|default $|default ,|defined in|delete $|delete the|"
    "deletions $|depends on|described in|description $|design $|design a|design doc|did not|did this|"
    "did we|did you|didnt you|diff $|diff and|difference between|differences in|directly $|directly to|"
    "directory $|directory ,|directory and|disable telemetry|distinguish between|do $|do ,|do ?|do a|do i|"
    "do it|do not|do option|do phase|do that|do the|do these|do they|do this|do we|do you|docs $|docs ?|"
    "docs architecture|docs plan|document the|does $|does ?|does it|does not|does that|does the|does this|"
    "doesnt work|done $|done ,|dont change|dont have|dont know|dont like|dont need|dont see|dont touch|"
    "dont use|dont want|double check|down $|drop the|dry run|duplicate code|duplication $|during the|e e|"
    "e mail|e sh|e tests|each $|each of|each other|each step|each time|each tool|early returns|easier to|"
    "edit $|edit in|else $|else ?|empty $|empty list|end $|end of|end up|endpoint that|entry for|enum $|"
    "error $|error ,|error handling|error in|error is|error message|error when|error with|errors $|"
    "especially the|even when|events $|every request|everywhere $|example $|example of|exist $|"
    "existing tests|exists $|exit code|exit with|explain the|explain to|explain why|extend the|extract it|"
    "extract the|f $|fail $|failing $|failing test|failing tests|fails $|fails ,|fails with|failure $|"
    "feature $|feature ,|feedback $|feedback on|field $|field ,|fields $|figure out|file $|file ,|file ?|"
    "file and|file changes|file is|file name|file system|file to|files $|files ,|files and|files are|"
    "files to|files you|filter $|filter is|find any|find out|find the|fine for|finish $|first $|first ,|"
    "first ?|first one|first two|fix $|fix all|fix for|fix it|fix lint|fix that|fix the|fix them|fix this|"
    "fixed $|flag $|flag is|flag should|flag to|flatten the|focus on|folder $|follow $|follow the|"
    "following plan|for $|for ,|for ?|for a|for all|for an|for better|for both|for consistency|for each|"
    "for every|for how|for it|for me|for my|for new|for now|for other|for that|for the|for this|for us|"
    "for users|for watch|form $|format ,|format for|found in|from $|from ?|from a|from before|from main|"
    "from the|frontend and|function $|function ,|function does|function for|function has|function in|"
    "function is|functions $|functions are|generate a|generated by|get $|get a|get rid|get that|get the|"
    "get this|gh to|git status|github actions|give it|give me|go $|go ,|go ?|go ahead|go back|go but|"
    "go into|go line|go on|go over|go through|go to|go with|goal $|going on|good $|good ,|good for|"
    "got this|great ,|green $|handle the|handle this|handlers go|handling $|happens if|happens in|"
    "happens to|happens when|hard to|has a|has been|has no|has to|have $|have a|have an|have another|"
    "have it|have more|have one|have tests|have the|have to|header $|help $|help me|helper $|helper for|"
    "helpers $|helpers go|helpers in|here $|here ,|here ?|here is|hide the|high severity|hm ,|hmm ,|"
    "hook $|hook is|hooks $|hooks ,|hooks go|hour $|how about|how can|how come|how did|how do|how does|"
    "how is|how it|how long|how many|how much|how the|how this|how to|how we|how would|i am|i can|i cant|"
    "i changed|i checked|i did|i do|i dont|i get|i got|i have|i just|i like|i mean|i need|i o|i ran|i run|"
    "i see|i still|i think|i thought|i updated|i want|i will|i wonder|i would|id ,|id and|id in|id is|"
    "id like|ideas ?|if a|if any|if i|if it|if needed|if not|if the|if there|if they|if this|if two|if we|"
    "ignored ,|ignores the|im not|image $|implement a|implement it|implement the|implement this|"
    "implementation $|implementation plan|import cycle|import in|imports $|in $|in a|in all|in an|in app|"
    "in auth|in between|in both|in cart|in ci|in config|in deploy|in dev|in docs|in each|in front|in go|"
    "in line|in load|in logs|in main|in memory|in one|in package|in parallel|in production|in session|"
    "in src|in stats|in test|in tests|in that|in the|in this|in tmp|in two|in utils|in var|in watch|"
    "in which|in your|include the|included $|index is|input $|input is|inside the|install $|install sh|"
    "instead $|instead ?|instead of|integration test|integration tests|into a|into its|into one|into the|"
    "into this|is $|is ?|is a|is all|is already|is an|is best|is better|is called|is checked|is closed|"
    "is confusing|is dead|is defined|is done|is down|is empty|is failing|is fine|is good|is happening|"
    "is important|is in|is it|is lost|is made|is misleading|is missing|is needed|is never|is no|is not|"
    "is one|is only|is outdated|is passed|is read|is redundant|is released|is running|is shared|is still|"
    "is that|is the|is there|is this|is to|is too|is unclear|is used|is written|is wrong|isnt good|"
    "isnt that|isnt the|issue $|issue and|issue is|issues $|issues ?|it $|it ,|it ?|it a|it again|it also|"
    "it and|it as|it at|it be|it does|it for|it from|it has|it in|it into|it is|it like|it makes|it must|"
    "it on|it one|it says|it seems|it should|it so|it still|it the|it to|it was|it with|it worked|"
    "it works|it would|its in|its own|js $|json $|json ,|json and|json flag|just a|just for|just tell|"
    "just the|just to|just use|keep both|keep it|keep the|key $|key to|keys $|know the|know what|"
    "language $|last change|last command|last commit|last message|last session|layout $|lead to|"
    "leaves the|left $|left to|let the|let users|lets apply|lets design|lets do|lets fix|lets go|"
    "lets have|lets implement|lets look|lets make|lets move|lets plan|lets put|lets remove|lets say|"
    "lets see|lets start|lets talk|lets try|lets use|level $|level ,|lib $|lib ,|lib and|library $|like $|"
    "like for|like option|like that|like the|like this|like to|limit $|limit to|line $|line ?|line is|"
    "line numbers|line of|lines $|lines ,|link to|lint $|list $|list ,|list ?|list all|list command|"
    "list is|list of|list the|load $|local changes|locally $|lock is|log $|log and|log in|log is|"
    "log level|log noise|log the|logged in|logging when|logic $|logic from|logic in|logic is|logic to|"
    "logic with|login $|login ,|login page|logs $|logs for|logs in|long $|long ?|look $|look ?|look at|"
    "look for|look like|looked at|looks good|looks like|loop in|lost when|lot of|low severity|lower case|"
    "lower the|machine $|mail $|main $|main ,|main and|main go|maintenance burden|make a|make check|"
    "make it|make sense|make sure|make that|make the|make this|makes sense|making this|markdown to|"
    "match $|match ,|maybe a|mb $|md $|md ,|md ?|md and|md with|me $|me ,|me ?|me a|me an|me how|me if|"
    "me suggestions|me the|me what|me where|me which|mean $|medium severity|merge $|merge the|message $|"
    "message ,|message ?|message and|message when|message with|messages $|metrics $|middle of|"
    "migration logic|mise run|misleading $|missing $|missing ?|mobile app|mode $|mode ,|model ,|models $|"
    "modify $|module $|more $|more tests|more than|more thing|most of|move it|move that|move the|"
    "move this|must be|must pass|must stay|my changes|my machine|n ,|name $|name ,|name for|name in|"
    "name it|name to|names $|nearly the|need a|need it|need the|need to|needed $|needed ?|never called|"
    "new directory|new feature|new file|new one|new package|new session|new table|newline at|next to|"
    "nice to|no $|no ,|no ?|no change|no changes|no code|no need|no new|no such|no test|not $|not ?|not a|"
    "not be|not contain|not exist|not found|not how|not implemented|not in|not just|not print|not see|"
    "not sure|not the|not to|not work|not working|nothing ,|nothing else|nothing is|notice we|"
    "notifications $|now $|now ,|now ?|now do|now i|now it|now lets|now the|npm test|null $|number $|"
    "number and|number of|numbers $|o $|of $|of ,|of a|of all|of an|of each|of how|of main|of that|of the|"
    "of them|of these|of this|of truth|ok $|ok ,|ok now|old entries|old name|old one|on $|on a|on each|"
    "on every|on github|on line|on main|on my|on the|on this|on with|once $|once more|one $|one ,|one ?|"
    "one and|one file|one for|one in|one is|one last|one line|one module|one more|one of|one test|ones $|"
    "only $|only ,|only checks|only difference|only for|only in|only one|only the|open $|open a|"
    "open source|option $|option ,|option a|option b|option in|options $|options struct|or is|or one|"
    "or only|or the|order $|order in|orders $|other callers|other commands|other one|other places|"
    "other providers|others $|out $|out if|out in|out issue|out of|out the|out what|out which|out why|"
    "out with|output $|output ,|output and|output file|output is|outside the|over the|overview of|own $|"
    "own file|package $|packages $|page $|parameter $|parsing and|part $|part ,|part of|pass $|pass the|"
    "passes $|path $|path ,|path in|path is|paths $|pattern $|per session|permission denied|phase $|"
    "phase and|pkg cmd|place $|places that|places where|plan $|plan ,|plan for|plan md|plan mode|plan the|"
    "please $|please ,|please add|please address|please check|please do|please find|please fix|please go|"
    "please implement|please make|please update|png $|points $|points to|possible $|possible to|pr $|pr ,|"
    "pr ?|pr and|pr description|pr for|prefix is|press ctrl|press the|print the|problem $|problem ?|"
    "problem is|problems $|proceed with|product $|project $|project ,|project and|project level|propose a|"
    "propose something|pros and|provide a|provider $|provider ?|providers $|providers ,|providers ?|"
    "providers have|public api|pull request|push $|put a|put it|put the|put this|py $|py ,|py and|py into|"
    "pytest $|pytest before|question $|question ,|race condition|ran it|rather than|read $|read at|"
    "read docs|read the|reading the|readme $|reads ,|ready $|ready to|reason for|recommend a|reduce the|"
    "redundant $|redundant fields|refactor the|refresh $|refresh token|registry $|relative to|release $|"
    "rely on|remove it|remove the|removed $|removed the|removing the|rename it|rename the|replace the|"
    "replacing the|repo $|repo ,|report $|repositories $|repository $|request $|request status|"
    "requests per|research and|reset the|resolve the|rest $|result $|resume command|returns $|returns a|"
    "returns the|review $|review ,|review comment|review comments|review of|review pr|review the|"
    "review this|review what|rid of|right $|right ,|right ?|right now|risk of|root cause|root folder|"
    "rows $|run $|run ,|run ?|run a|run build|run lint|run pytest|run the|running $|running mise|runs $|"
    "runs ,|s $|s ,|safe to|same $|same ,|same ?|same as|same code|same error|same file|same for|"
    "same pattern|same problem|same thing|same time|same with|save $|say if|say the|scenarios md|schema $|"
    "script that|search the|second one|seconds $|section $|see $|see a|see how|see if|see it|see the|"
    "see what|seems the|send a|send the|sense $|sense to|sense with|session $|session ,|session id|"
    "session is|session package|set $|set the|settings page|setup $|severity $|shared helper|shell $|"
    "shell completion|should add|should also|should be|should behave|should do|should have|should i|"
    "should include|should look|should not|should say|should show|should start|should use|should we|"
    "should work|show a|show it|show me|show that|show the|show them|shown ?|shown in|simplify the|"
    "since its|since the|since this|so basically|so both|so i|so it|so long|so that|so the|so there|so we|"
    "solves this|some tests|sort the|source $|source of|stage $|standard library|start $|start a|"
    "start the|start with|state $|state go|stats py|status $|status long|status of|stderr $|stdout $|"
    "step $|step by|steps $|steps ,|steps to|still be|still does|still open|still see|still using|stop $|"
    "storage $|store it|store the|string $|strings $|strings ,|strings contains|struct $|structure $|"
    "style $|submit $|suggestion for|suggestions first|suite before|summarize the|summarize what|"
    "summary $|summary md|summary of|summary to|support $|support for|sure i|sure that|sure the|switch to|"
    "sync ,|sync and|synced $|system $|table $|table ?|table driven|table on|tags $|take a|take the|"
    "talk about|task $|task is|tell me|tell the|template $|template ,|test $|test ,|test and|test cases|"
    "test coverage|test for|test in|test is|test setup|test suite|test that|test this|test with|tests $|"
    "tests ,|tests ?|tests again|tests and|tests are|tests at|tests by|tests for|tests in|tests test|"
    "tests that|tests would|text $|text ,|text in|than a|than one|than polling|that $|that ,|that ?|"
    "that a|that all|that already|that and|that are|that be|that can|that check|that checks|that does|"
    "that explains|that file|that for|that i|that in|that is|that it|that makes|that means|that method|"
    "that name|that nothing|that only|that part|that returns|that should|that the|that they|that this|"
    "that to|that uses|that was|that we|that work|that would|that you|thats a|thats not|the agent|"
    "the analytics|the api|the app|the approach|the backup|the base|the best|the big|the branch|"
    "the branches|the bug|the build|the button|the cache|the callback|the callers|the case|the cause|"
    "the chain|the change|the changelog|the changes|the check|the cli|the client|the code|the codebase|"
    "the column|the command|the comment|the comments|the commit|the config|the conflicts|the console|"
    "the constant|the correct|the crash|the critical|the cron|the csv|the currency|the current|the cursor|"
    "the data|the database|the date|the default|the deprecated|the dev|the diff|the difference|"
    "the directory|the discount|the doc|the docs|the duplication|the e|the empty|the end|the env|"
    "the error|the exact|the example|the existing|the failing|the file|the files|the first|the fix|"
    "the flag|the folder|the following|the footer|the form|the frontend|the function|the gemini|the hash|"
    "the header|the heading|the hook|the id|the image|the implementation|the import|the index|the input|"
    "the integration|the invoice|the issue|the issues|the key|the last|the latest|the left|the length|"
    "the limit|the line|the link|the linter|the list|the local|the lock|the log|the login|the logs|"
    "the loop|the mail|the memory|the merge|the message|the metadata|the method|the middle|the migration|"
    "the mobile|the name|the new|the next|the nightly|the numbers|the old|the onboarding|the one|the only|"
    "the open|the opposite|the options|the order|the other|the others|the output|the package|the parser|"
    "the path|the payment|the plan|the plugin|the polling|the pr|the prefix|the price|the primary|"
    "the problem|the project|the projects|the prompt|the prompts|the pros|the public|the readme|the real|"
    "the reason|the regex|the release|the repo|the report|the request|the rest|the result|the resume|"
    "the retry|the review|the reviewer|the right|the risk|the root|the same|the scheduler|the schema|"
    "the second|the server|the session|the sessions|the settings|the shared|the shell|the sidebar|"
    "the standard|the start|the state|the status|the steps|the suite|the summary|the sync|the table|"
    "the task|the team|the template|the terminal|the test|the tests|the text|the three|the time|"
    "the timeout|the title|the token|the tool|the tooltip|the top|the transcript|the two|the unstaged|"
    "the unused|the update|the upload|the user|the users|the validation|the value|the variable|"
    "the version|the warning|the watch|the watcher|the whole|the work|the worker|the wrapper|the wrong|"
    "their data|their own|them $|them ,|them ?|them by|them in|them to|then $|then ?|then add|then run|"
    "then the|then we|there $|there ,|there ?|there a|there any|there anything|there are|there is|"
    "there should|there two|theres a|these functions|these should|these tests|these two|they are|"
    "they have|they were|thing $|thing ,|thing in|thing that|think about|think it|think that|think the|"
    "think this|think we|thinking about|this $|this ,|this ?|this also|this and|this as|this before|"
    "this branch|this breaks|this by|this can|this case|this comment|this could|this error|this feedback|"
    "this file|this from|this function|this happens|this in|this into|this is|this line|this now|this one|"
    "this out|this point|this pr|this project|this repo|this should|this so|this still|this the|this to|"
    "this up|this when|this with|this work|through the|through them|time $|time ,|time ?|timeout to|"
    "times $|timestamps ,|title $|to $|to ,|to a|to achieve|to add|to all|to an|to analyze|to apply|"
    "to ask|to avoid|to be|to behave|to call|to change|to check|to date|to do|to each|to every|to filter|"
    "to follow|to get|to have|to how|to improve|to keep|to main|to make|to match|to me|to modify|to move|"
    "to not|to one|to open|to pkg|to read|to return|to run|to see|to select|to send|to show|to split|"
    "to start|to stdout|to sync|to test|to the|to this|to try|to understand|to use|to work|toml ,|too $|"
    "too ,|too ?|too much|tool $|tool call|tool in|tool type|tools $|top of|topic $|touch the|trace $|"
    "track the|trade offs|transcript $|true ,|trying to|ts $|ts and|turn the|twice $|twice ?|two $|"
    "two commits|two ways|txt $|txt and|type $|type is|typing $|ultrathink $|unit test|unit tests|"
    "unstaged changes|unused imports|up $|up ,|up ?|up a|up the|up to|up with|update $|update the|"
    "update to|updated the|upload $|us $|usage $|use a|use errors|use gh|use it|use line|use the|used $|"
    "used anywhere|user $|user and|user has|user is|user to|users $|users to|users with|uses it|uses the|"
    "using a|using the|utils $|utils ,|utils py|v $|value $|value is|verification $|verify that|version $|"
    "version is|wait $|want a|want is|want it|want the|want to|warning $|was $|was already|was not|"
    "was that|watch $|watch mode|way to|we add|we also|we are|we can|we change|we check|we could|we did|"
    "we do|we doing|we dont|we fix|we get|we had|we handle|we have|we just|we know|we make|we might|"
    "we move|we need|we never|we not|we see|we should|we still|we store|we use|we want|we would|well $|"
    "well ?|what ?|what about|what are|what could|what do|what does|what happens|what i|what if|what is|"
    "what it|what the|what this|what we|what would|what you|whats left|whats the|when a|when file|when i|"
    "when is|when it|when that|when the|when they|when you|where do|where is|where it|where the|"
    "where they|where we|whether the|which is|which of|which one|while the|why $|why ,|why ?|why are|"
    "why did|why do|why does|why is|why it|why not|why the|why this|why we|with $|with a|with an|"
    "with context|with option|with phase|with that|with the|with two|without a|without an|without any|"
    "without the|wonder if|wondering if|work $|work ?|work for|work offline|work on|work with|working $|"
    "working directory|works $|works ,|works for|would be|would break|would change|would do|would explain|"
    "would happen|would have|would it|would like|would look|would not|would that|would the|would this|"
    "would you|write a|write down|write it|write me|write the|write this|writing to|wrong $|wrong ,|"
    "yaml $|year $|yes $|yes ,|yes do|yesterday $|yet $|yet ,|you ?|you add|you address|you also|you are|"
    "you build|you change|you check|you create|you do|you double|you explain|you find|you finish|you fix|"
    "you get|you give|you go|you have|you help|you implement|you look|you make|you mean|you move|you need|"
    "you propose|you put|you remove|you review|you run|you say|you see|you show|you stop|you suggest|"
    "you summarize|you sure|you tell|you the|you think|you to|you update|you use|you would|you write|"
    "your task|"
)


WORDS = frozenset(_WORDS.split())


_SPLIT = (pair.partition(" ") for pair in _PAIRS.split("|")[:-1])


PAIRS = tuple((first, second) for first, _, second in _SPLIT)
