"""The names of all features of a prompt, and all signals of a boundary, in the order in which training numbers them."""

from aggregates.judging.boundary import OPENS, SAID
from aggregates.reading.features import LENGTHS, PAIR_NAMES, WORD_NAMES, extract
from aggregates.reading.model import of_pasted
from aggregates.reading.prompt_text import split_pasted
from aggregates.reading.readings import CROSSED
from aggregates.reading.sentences import ABOUT, FINDINGS, OPENERS, PAIRS, PHRASE_CUES, VERBS, VOCABULARY, WORD_CUES
from aggregates.reading.verdicts import INTENTS

_SAID = ("request", "question", "report", "statement")
_HOWS = (*("plain", "you", "we", "i", "want", "lets"), *("please", "should", "suggest", "sure", "forbid", "unwanted"))
_ASKED = ("wh", "how", "why", "yesno", "tag", "other")
_KINDS = tuple(VERBS)
TRAITS: tuple[str, ...] = (
    *("bare", "bare paste", "plan handed over"),
    *(f"plan title:{kind}" for kind in (*_KINDS, "tests")),
    *("only strong report", "only weak report", "only statement", "only question", "has report", "has strong report"),
    *(f"question:{how}" for how in _ASKED),
    *(f"only question:{how}" for how in _ASKED),
    *(f"how:{how}" for how in _HOWS),
    *(f"last how:{how}" for how in _HOWS),
    *(f"does:{kind}" for kind in (*_KINDS, "none")),
    *(f"does:{kind} {about}" for kind, abouts in ABOUT.items() for about in abouts),
    *(f"first does:{kind}" for kind in (*_KINDS, "none")),
    *(f"last does:{kind}" for kind in (*_KINDS, "none")),
    *(f"begins:{said}" for said in _SAID),
    *(f"ends:{said}" for said in _SAID),
    "prose",
    *(f"prose:{about}" for about in FINDINGS),
    *(f"prose twice:{about}" for about in FINDINGS),
)
_OPENERS = sorted(set(OPENERS.values()) | {"other", "empty"} | {f"do_{verb}" for verb in VERBS})
_PLACES = ("first", "last", "any")

_SHAPES = (
    *("ends in ?", "asks ?", "asks ? twice", "ends in :", "exclaims", "quotes", "colon first line", "filler first"),
    *("one sentence", "over 3 sentences", "over 8 sentences", "heading", "bullets", "numbered", "number"),
    *("reference", "references 2", "references 4", "references 8", "reference first", "lines named"),
    *("path", "symbol", "code name", "mention", "url", "flagged"),
    *("says nothing", "word list"),
    *("no own words", "pasted", "pasted over own", "pasted reference"),
)

FEATURES: tuple[str, ...] = (
    *sorted(WORD_NAMES.values()),
    *(f"cue:{cue}" for cue in WORD_CUES),
    *(f"cues:{cue}" for cue in WORD_CUES),
    *(f"phrase:{cue}" for cue in PHRASE_CUES),
    *(f"open {place}:{opener}" for place in _PLACES for opener in _OPENERS),
    *(f"ask {place}:{verb}" for place in _PLACES for verb in VERBS),
    *(f"start:{word}" for word in sorted(VOCABULARY)),
    *(f"words over {bound}" for bound in LENGTHS),
    *_SHAPES,
    *TRAITS,
    *(f"pair:{first} {second}" for first, second in PAIRS),
)

CONTEXT_FEATURES = (
    "context:first",
    "context:after an offer",
    "context:after silence",
    "context:after a command",
    "context:after a review command",
    "context:first and short",
    "context:first and of few words",
    "context:first and nothing named",
    "context:first and plain",
    "context:first and pasted",
    "short and nothing named",
    "nothing pasted: report",
    "nothing pasted: first and vague",
    "nothing pasted: error",
    *(f"is:{intent}" for intent in INTENTS),
    *(f"{intent} & {cue}" for intent in INTENTS for cue in CROSSED),
)
"""What came before a prompt, and, for the booleans, what it was judged to ask for."""
ALL_FEATURES = FEATURES + CONTEXT_FEATURES
PASTED: frozenset[str] = frozenset(name for name in ALL_FEATURES if of_pasted(name))

SIGNALS: tuple[str, ...] = (
    *SAID,
    *OPENS,
    *(f"under {most} % of its words are of the turn before" for most in (30, 20, 8)),
    *(f"under {most} % of its words are of the last turns" for most in (40, 30)),
    "its answer has no words of the turn before",
    "fresh, and new to the last turns too",
    *("a word or more is new", "4 words or more are new", "8 words or more are new"),
    "changes the same files",
    "the last prompt described a finding",
    "a short order after a review",
    "is a command",
    "a commit or a merge was asked for just before",
    "the answer before closes",
    "the answer before offers more",
    "the answer before asks something",
    "the answer before broke off",
    "hardly an answer before",
    "the work before was interrupted",
    "the turn before was a command",
    "turns to something new",
    "stands apart, 10 minutes later",
    "stands apart, 20 minutes later",
    "stands apart, an hour later",
    "fresh, and points back at nothing",
    "fresh, and asks for something",
    "fresh, and asks a question",
    "asks for something after finished work",
)


def features_of(text: str) -> set[str]:
    """Those of words and pairs too, which nothing that reads many prompts forms."""
    shown = extract(split_pasted(text))
    words = [WORD_NAMES[word] for word in shown.distinct if word in WORD_NAMES]
    return shown.cues.union(words, [PAIR_NAMES[place] for place in shown.pairs if place in PAIR_NAMES])
