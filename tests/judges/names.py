"""The names of all features of a prompt, and all signals of a boundary, in the order in which training numbers them."""

from pathlib import Path

from aggregates.judging.boundary import OPENS, SAID
from aggregates.reading.features import LENGTHS, PAIR_NAMES, WORD_NAMES, extract
from aggregates.reading.model import of_pasted
from aggregates.reading.prompt_text import split_pasted
from aggregates.reading.readings import CROSSED
from aggregates.reading.sentences import ABOUT, FINDINGS, OPENERS, PAIRS, PHRASE_CUES, VERBS, VOCABULARY, WORD_CUES
from aggregates.reading.verdicts import INTENTS
from tests.support.tables import lines_of

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

_TOLD = lines_of(Path(__file__).with_suffix(".txt"))
_SHAPES, _CONTEXT, _SIGNALS = ([name for of, name in _TOLD if of == part] for part in ("shapes", "context", "signals"))

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
    *_CONTEXT,
    *(f"is:{intent}" for intent in INTENTS),
    *(f"{intent} & {cue}" for intent in INTENTS for cue in CROSSED),
)
"""What came before a prompt, and, for the booleans, what it was judged to ask for."""
ALL_FEATURES = FEATURES + CONTEXT_FEATURES
PASTED: frozenset[str] = frozenset(name for name in ALL_FEATURES if of_pasted(name))

SIGNALS: tuple[str, ...] = (*SAID, *OPENS, *_SIGNALS)


def features_of(text: str) -> set[str]:
    """Those of words and pairs too, which nothing that reads many prompts forms."""
    shown = extract(split_pasted(text))
    words = [WORD_NAMES[word] for word in shown.distinct if word in WORD_NAMES]
    return shown.cues.union(words, [PAIR_NAMES[place] for place in shown.pairs if place in PAIR_NAMES])
