"""Reading a text once: what the judges need of it, without its words; and where its words speak for each boolean.

Readings are made when the fact is projected; everything later is decided on them. No text makes them raise.
"""

import re
from collections.abc import Iterable, Mapping, Set
from functools import lru_cache
from itertools import chain, islice

import msgspec

from aggregates.event import Digester, Span, packed
from aggregates.reading import features, readings, sentences as lexicon, statements
from aggregates.reading.checks import named_checks
from aggregates.reading.features import Features
from aggregates.reading.model import SHIPPED, RubricModel
from aggregates.reading.prompt_text import PromptText, cut_end, prompt_opening, split_pasted, title_and_summary
from aggregates.reading.readings import PromptReading, ResponseReading
from aggregates.reading.sentences import Cutter, patterns
from aggregates.reading.verdicts import BOOLEANS, BooleanName

_ACKNOWLEDGEMENT_WORDS_MAX = 8
_REPEATED_CHARS = 80  # in a longer text no word is looked for that is all of it
_WORDS = Cutter(re.compile(r"\w+"))
_ARGUMENT_WORDS_MIN = 3  # so many words after a command are a person's own prompt: "/heavy look into the failing job"
_COMMAND_TAGS = ("<command-name>", "<command-message>")
_GO_AHEADS = lexicon.LISTS["go_aheads"]
_AGREEING = _GO_AHEADS | lexicon.LISTS["agreeing"]
_SAYS = patterns("prompts")
_COMMON = lexicon.VOCABULARY.union(*lexicon.WORD_CUES.values())


def read_prompt(text: str, digester: Digester, model: RubricModel = SHIPPED) -> PromptReading:
    """Read a prompt, to be judged by `model` alone. Spans point into `text`; a blank prompt has empty spans."""
    own = readings.own_span(text)
    words = text[own.start : own.end]
    maker = readings.maker_of(text, words)
    looked = split_pasted(words)
    shown = features.extract(looked)
    title, summary = title_and_summary(looked)
    tokens = list(dict.fromkeys(_WORDS.cut(looked.text.lower())[0]))
    said = [*shown.cues, *prompt_opening(words, looked.own, len(shown.words))]
    announces = len(words) < 2 * _REPEATED_CHARS and _SAYS["announces"].match(words)
    navigational = "command" if maker is not None else _navigational(words, shown)
    navigational = navigational or ("acknowledgement" if announces else None)
    # A nod that praises tells of what was done; any other only lets the work go on.
    unpraised = lexicon.LISTS["praise"].isdisjoint(shown.distinct) or "would" in shown.distinct
    agrees = unpraised and not _AGREEING.isdisjoint(shown.distinct)
    begins = announces or not _GO_AHEADS.isdisjoint(shown.words[:1])
    if begins or (navigational == "acknowledgement" and agrees):
        said.append("goes ahead")
    of_the_work = statements.said_of_the_work(looked.own)
    if of_the_work is not None:
        said.append(f"says that it {of_the_work}")
    if of_the_work != "works" and (_only_names_success(shown) or statements.thanks_for_something_else(looked.own)):
        said.append("only names success")
    mistake = shown.phrases.get("correcting") in ("stop", "wrong")
    if mistake and not _SAYS["stop or wrong"].search(" ".join(shown.words)):
        said.append("only mentions a mistake")
    said += [*features.empty_wishes(shown, looked.own), *(["findable"] if shown.findable else [])]
    if _SAYS["images"].match(words[:2000]) is not None:
        said.append("image alone")
    numbers = [number for word, number in features.NUMBERED_WORDS if word in shown.distinct]
    return PromptReading(
        weight=_weight(looked.own),
        navigational=navigational,
        clears=_SAYS["clears"].match(words[:80].lower()) is not None,
        token_digests=packed(sorted(digester.numbers(tokens[: readings.TOKENS_MAX]))),
        title=Span(own.start + title.start, own.start + title.end),
        summary=Span(own.start + summary.start, own.start + summary.end),
        characters=len(words),
        pasted_characters=looked.pasted_chars,
        shown=tuple(sorted([*numbers, *(readings.NUMBER[name] for name in said if name in readings.NUMBER)])),
        logits=model.logits(shown.cues, shown.distinct, shown.pairs),
        topic_digests=_topic(shown.distinct, digester),
        foreign=shown.foreign,
        maker=maker,
        start=own.start,
        checks=tuple(map(digester.number, named_checks(looked.own))),
    )


def text_digest(text: str, digester: Digester) -> int:
    """Equal for two captures of one prompt, whatever white space or blocks the agent put around it."""
    return digester.number(" ".join(readings.own_words(text).split()))


_TELLS = patterns("answers")
_END_CHARS = 400  # of an answer, in which it says what it did
_OFFER_CHARS = 200
_CLOSE_CHARS = 250


def read_response(text: str, digester: Digester) -> ResponseReading:
    """Read a response's end: what it reports in its last 400 characters, what it is about in its last 800."""
    end = text[-_END_CHARS:].lower().rstrip()
    words = [word for word in _WORDS.cut(text[-2 * _END_CHARS :].lower())[0] if not word.isdigit()]
    stated = statements.stated_failure(text)
    return ResponseReading(
        topic_digests=_topic(dict.fromkeys(words), digester),
        characters=len(text),
        asks=_TELLS["offers"].search(end[-_OFFER_CHARS:]) is not None,
        reports_done=_tells_done(text),
        reports_failure=_TELLS["failed"].search(end) is not None,
        closes=_TELLS["closes"].search(end[-_CLOSE_CHARS:]) is not None,
        invites=_TELLS["invites"].search(end[-_OFFER_CHARS:]) is not None,
        breaks_off=_TELLS["breaks off"].search(end[-_OFFER_CHARS:]) is not None,
        tells_failure=None if stated is None else stated.kind,
    )


def _tells_done(text: str) -> bool:
    """Whether a sentence of an answer's end says that the work is done."""
    own = statements.own_end(text)[1]
    end = len(own.rstrip())
    sentences = statements.SAID_SENTENCE.finditer(own, max(0, end - max(_END_CHARS, statements.LOOKED_CHARS)))
    ends = (each[0].lower() for each in sentences if each.end() > end - _END_CHARS)
    return any(_TELLS["done"].search(_TELLS["told of"].split(each, 1)[0]) for each in ends)


_CJK = "[\u1100-\u11ff\u2e80-\u9fff\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff\uff00-\uffef\U00020000-\U0003ffff]"


def _weight(own: str) -> int:
    """A CJK character counts as three; the same word again says no more."""
    stripped = own.strip()
    if len(own) < _REPEATED_CHARS and len(said := set(own.lower().split())) == 1:
        (stripped,) = said
    # Compiled where it is needed: that takes as long as reading a hundred prompts.
    return len(stripped) if stripped.isascii() else len(stripped) + 2 * len(re.findall(_CJK, stripped))


def _navigational(text: str, shown: Features) -> str | None:
    start = text[:200].lstrip()
    command = _SAYS["commands"].match(start)
    if start.startswith(_COMMAND_TAGS) or (command and len(start[command.end() :].split()) < _ARGUMENT_WORDS_MIN):
        return "command"
    if readings.is_for_shell(text) or start.startswith(("<bash-input>", "<bash-stdout>", "<bash-stderr>")):
        return "shell"
    words, lists = shown.words[: _ACKNOWLEDGEMENT_WORDS_MAX + 1], lexicon.LISTS
    acknowledges = 0 < len(words) <= _ACKNOWLEDGEMENT_WORDS_MAX and words[0] in lists["acknowledging_starts"]
    acknowledges = acknowledges and lists["acknowledgements"].issuperset(words)
    if acknowledges and len(text) < 100 and not _SAYS["unsaid"].search(text):
        return "acknowledgement"
    if len(text) < _REPEATED_CHARS and _weight(text) < readings.SHORT_WEIGHT:
        return "short"
    return None


def _only_names_success(shown: Features) -> bool:
    """Whether "it works" is the only approving phrase, where it is no statement: "make sure it works"."""
    if "work" not in shown.phrases.get("accepting", ""):
        return False
    line = " ".join(shown.words)
    return not any(map(line.__contains__, _APPROVING))


_ACCEPTING = map(" ".join, lexicon.PHRASE_CUES["accepting"])
_APPROVING = [each for each in _ACCEPTING if not re.search(r"\bwork", each)]


def _topic(distinct: Iterable[str], digester: Digester) -> bytes:
    rare = [word for word in distinct if word not in _COMMON and len(word) > 2]
    return packed(sorted(digester.numbers(rare[: readings.TOPIC_MAX])))


# The words of a prompt that speak for each boolean, as spans: found where somebody asks for them.

EVIDENCE_CHARS_MAX = 160
_SENTENCE_END = re.compile(r"(?<!\b\d)(?<!\.\.)[.?!] |\n")  # none after the number of an item, or in `./... -v`


def _any_of(*lists: str, also: Iterable[lexicon.Words] = (), less: Set[str] = frozenset()) -> re.Pattern[str]:
    words = frozenset[str]().union(*(lexicon.WORD_CUES[name] for name in lists), *also) - less
    return re.compile(rf"(?<![/.:\w-])(?:{'|'.join(sorted(words))})\b(?![/:]\w)")  # no part of a path, or of `test:e2e`


_ELSE: dict[BooleanName, re.Pattern[str]] = {
    "goal_explicit": re.compile(rf"{_any_of('want', also=lexicon.VERBS.values()).pattern}|\w(?=\?)"),
    "scope_bounded": re.compile(
        rf"\b(?:in|into|on|to|within|at) (?:the|this|that|our|my|your) (?:[\w-]+ ){{0,2}}?{_any_of('where').pattern}"
    ),
    # What can be found by it, never a mere thing: "the table" and "12 files" name no place.
    "references_concrete": re.compile(r"\b(?:lines?|ticket|issue|pr|commit|option|step|phase|error|status) #?\d"),
    "verification_requested": _any_of("test", "check", "accept"),
    "root_cause_oriented": re.compile(r"\b(?:why|causes?|causing|culprit)\b"),
    "plan_first": _any_of("plan", also=[lexicon.VERBS["plan"]], less={"step", "phase", "strategy"}),
}
"""What is looked for where neither a phrase nor a reference speaks for a boolean. All patterns here are for lower case:
to ignore case takes so many times as long, and nothing else of the program runs meanwhile."""


def evidence_spans(
    looked: PromptText, phrases: Mapping[str, str], *, questioning: bool = False
) -> dict[BooleanName, Span | None]:
    """For each boolean the clause that holds one of its cues, else one of its words; None where there is neither.

    `questioning`: the goal of such a prompt is a question of it.
    """
    said = {cue: phrase for cue, phrase in phrases.items() if phrase not in _NO_LIMIT}
    found = {name: [said[cue] for cue in lexicon.EVIDENCE[name] if cue in said] for name in BOOLEANS}
    reference, long = best_reference(looked.own), len(looked.own) > _LONG_CHARS
    looked = msgspec.structs.replace(looked, own=_without_what_is_passed_on(looked.own))
    # A long text tells what is wanted at once; what follows is a plan, a finding or what happened.
    opening = msgspec.structs.replace(looked, own=looked.own[:_OPENING_CHARS]) if long else looked
    wanted = {name: [*map(_pattern, each)] for name, each in found.items()}
    for name in _ASKED:
        wanted[name].append(_ELSE[name])
    within = {name: opening if name in _IN_THE_OPENING else looked for name in BOOLEANS}
    spans, own = {name: _clause(within[name], each, name) for name, each in wanted.items()}, looked.own
    if reference is not None:
        telling, *place = reference
        spans["references_concrete"] = looked.span(*place)
        is_asked = own[slice(*place)].strip() and _asks(own, *_around(own, *place))
        compared = _SAYS["compared"].search(own, 0, place[0])
        if telling > _NO_PLACE_NAMED and is_asked and not compared and not (long and place[0] > _OPENING_CHARS):
            spans["scope_bounded"] = spans["references_concrete"]
    for name, words in _ELSE.items():
        if spans[name] is None:
            spans[name] = _clause(within[name], [words], name)
    if handed_over := _SAYS["hands a plan over"].match(own):
        spans["plan_first"] = looked.span(*handed_over.span())
    ends = [each.start() for each in _SAYS["question ends"].finditer(own)] if questioning else []
    clauses = [_around(own, end, end) for end in ends[:_CLAUSES_MAX]]
    asking = [each for each in clauses if _SAYS["asks of it"].search(own[slice(*each)].lower())]
    # An item of a list that ends with a question mark asks nothing by itself.
    alone = (each for each in clauses if not _SAYS["item"].search(own, 0, each[0]))
    if (asked := next(iter(asking), None) or next(alone, None)) is not None:
        spans["goal_explicit"] = looked.span(*asked)
    return spans


_ASKED: tuple[BooleanName, ...] = ("goal_explicit", "verification_requested", "root_cause_oriented")
_ASKING: tuple[BooleanName, ...] = (*_ASKED, "scope_bounded")
_IN_THE_OPENING: tuple[BooleanName, ...] = ("goal_explicit", "scope_bounded", "root_cause_oriented")
_LONG_CHARS, _OPENING_CHARS = 600, 300
_ALL_ASKS_WORDS_MAX = 25  # so few words ask for something together
_OPENS = patterns("openings")
_NO_LIMIT = frozenset({"at least", "for now", "only if", "only when", "the changes"})


def _without_what_is_passed_on(own: str) -> str:
    """Own words with blanks for quotes, what is done already, and what a line hands on that is no plan."""
    own = _SAYS["passed on"].sub(lambda found: " " * len(found[0]), own)
    lowered = own.lower()
    if len(_OPENS["remark of a reviewer"].findall(lowered)) > 1 and not _SAYS["somebody"].search(lowered):
        return re.sub(r"[^\n]", " ", own)
    handed = _OPENS["hands on"].search(own.lower().replace("\u0130", "i"))
    return own if handed is None else own[: handed.end()] + re.sub(r"[^\n]", " ", own[handed.end() :])


def _asks(own: str, start: int, end: int) -> bool:
    """Whether a clause asks for something, or so few words are said that all of them do."""
    said = map(lexicon.analyse, features.sentences_of(own[start : end + 1]))
    asked = any(each is not None and each.kind in ("request", "question") for each in said)
    return asked or len(own.split()) <= _ALL_ASKS_WORDS_MAX


@lru_cache(maxsize=512)
def _pattern(phrase: str) -> re.Pattern[str]:
    """A phrase of the lexicon as it stands in a text: apostrophes and punctuation between."""
    plain = phrase.lower().replace(",", " ").replace("?", " ")
    words = [r"['’]?".join(map(re.escape, word)) for word in plain.split()]
    return re.compile(r"\b" + r"\W{1,4}".join(words))


_CLAUSES_MAX = 8  # so many places of each phrase are compared
_LEADS_UP = 2
_WISHES, _WISH_WORDS_MIN = frozenset({"want", "you", "we", "please", "lets"}), 7
_THINKING = lexicon.HOLLOW | lexicon.VERBS["plan"]  # "can you think about this?" asks for nothing by itself


def _clause(looked: PromptText, wanted: Iterable[re.Pattern[str]], name: BooleanName) -> Span | None:
    """The first clause with one of these, rather one that states something than a question, and no bare lead-in.

    For some booleans rather one that asks for something to be done than any other.
    """
    own, asking = looked.own, name in _ASKING
    lowered = own.replace("\u0130", "i").lower()  # the one character whose lower case is longer
    wanted, none = list(wanted), _SAYS.get(f"no {name}")
    places = [each.span() for pattern in wanted for each in islice(pattern.finditer(lowered), _CLAUSES_MAX)]
    clauses = [_around(own, *place) for place in places]
    clauses = [each for each in clauses if none is None or not none.search(lowered[slice(*each)])]
    if not clauses:
        return None
    weakness = _unasking if asking else _weakness
    start, end = min(clauses, key=lambda clause: weakness(own, *clause))
    weak = weakness(own, start, end)
    if asking and weak == 1 and not _asks(own, start, end):
        return None
    # The first point of what a clause leads up to.
    elsewhere = asking and _SAYS["said elsewhere"].search(lowered[start:end])
    point = None if weak != _LEADS_UP or elsewhere else _SAYS["point"].match(own, end)
    if point and (not none or any(pattern.search(point[1].lower()) for pattern in wanted)):
        start, end = point.start(1), cut_end(own, point.start(1), point.end(1), EVIDENCE_CHARS_MAX)
    elif weak == _LEADS_UP and asking:
        return None
    return looked.span(start, end)


def _weakness(own: str, start: int, end: int) -> int:
    """`_LEADS_UP` of what only leads up to a list, 1 of a question."""
    said, after = own[start:end].rstrip(), own[end : end + 1]
    return _LEADS_UP if said.endswith(":") or after == ":" else int(said.endswith("?") or after == "?")


def _unasking(own: str, start: int, end: int) -> int:
    """`_LEADS_UP` of a short lead-in, 1 of what asks for nothing to be done, and of what was said elsewhere."""
    said = own[start:end]
    leads = _weakness(own, start, end) == _LEADS_UP
    if _SAYS["said elsewhere"].search(said.lower()):
        return _LEADS_UP
    sentences = features.sentences_of(said)
    if _THINKING.issuperset(chain.from_iterable(words for _, words, _ in sentences)):
        return _LEADS_UP
    asked = [each for each in map(lexicon.analyse, sentences) if each and each.kind == "request"]
    if leads:  # a long wish that leads up to something shows it: "I want the output to look like this:"
        wishes = "look at" not in said.lower() and any(each.how in _WISHES for each in asked)
        return 0 if wishes and len(said.split()) >= _WISH_WORDS_MIN else _LEADS_UP
    return int(not any(each.how != "should" and each.verb for each in asked))


def _around(own: str, at: int, after: int) -> tuple[int, int]:
    """The clause around what stands from `at` up to `after`."""
    low = max(at - EVIDENCE_CHARS_MAX, 0)
    before = own[low:at]
    cut = max(before.rfind(". "), before.rfind("? "), before.rfind("! "), before.rfind("\n"))
    start = low + 1 + (before.find(" ") if cut < 0 and low > 0 else cut)
    while start < at and own[start] in " \t-*#>":
        start += 1
    most = min(len(own), max(after, start + EVIDENCE_CHARS_MAX))
    end = cut_end(own, start, most, EVIDENCE_CHARS_MAX)
    stop = _SENTENCE_END.search(own, after, end)
    end = max(end if stop is None else stop.start(), after)
    while end < len(own) and own[end - 1].isalnum() and own[end].isalnum():
        end += 1  # never within a word
    return start, end


_NO_PLACE_NAMED = 1  # so telling is a name without a place
_LOOKED_CHUNKS_MAX = 400
_BEFORE = "([{\"'*<“‘…"  # what may stand before a reference; a dot may be a part of it


def best_reference(own: str) -> tuple[int, int, int] | None:
    """How telling the most telling reference of a text is, and where it stands.

    No command that it begins with or of an agent itself, and no word in capitals.
    """
    found = []
    for chunk in islice(_SAYS["chunk"].finditer(own), _LOOKED_CHUNKS_MAX):
        bare = chunk[0].strip(features.AROUND)
        word = bare.isdigit() or (bare.isalpha() and (bare.islower() or bare.istitle() or bare.isupper()))
        sets_up = bare.startswith("/") and _OPENS["sets up the session"].fullmatch(bare)
        command = sets_up or (chunk[0].startswith("/") and not own[: chunk.start()].strip())
        none = word or command or features.names_nothing(bare) or _SAYS["no place"].fullmatch(bare)
        either = _SAYS["either"].fullmatch(bare)
        if none or (either and either[1].lower() not in lexicon.LISTS["folders"]) or not features.REFERENCE.match(bare):
            continue
        # Links and files in folders say most of where to look, names without a place least.
        file, folder = _SAYS["file"].search(bare) is not None, "/" in bare
        near = 2 if file or folder or bare[0] in "@#" else _NO_PLACE_NAMED
        telling = 3 if "://" in bare or (file and folder) else near
        found.append((telling, -chunk.start(), chunk))
    if not found:
        return None
    telling, _, chunk = max(found)
    start = chunk.start() + len(chunk[0]) - len(chunk[0].lstrip(_BEFORE))
    end = start + len(chunk[0].lstrip(_BEFORE).rstrip(features.AROUND))
    code = next((each for each in _SAYS["code"].finditer(own) if each.start() <= start < each.end()), None)
    return (telling, start, end) if code is None else (telling, *code.span())
