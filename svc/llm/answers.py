"""What may leave for a text model, and what is believed of its answer.

Texts are redacted again, and sentences that address the judge are taken out. An answer must prove itself by quotes;
else it is refused as a whole, and the embedded verdict stands.
"""

import re
from collections import Counter
from collections.abc import Mapping
from typing import Annotated, Any, Generic, Literal, NamedTuple, TypeVar

import msgspec

from aggregates.reading.verdicts import BOOLEANS, BooleanName, Intent, applicable

T = TypeVar("T")
Reason = Literal[
    "off", "withheld", "budget", "resting", "too-large", "timeout",
    "unreachable", "overloaded", "failing", "refused", "unreadable", "misfit",
]  # fmt: skip


class NoAnswer(Exception):
    """The model gave none; the reason is never text of the other side."""

    def __init__(self, reason: Reason) -> None:
        self.reason = reason
        super().__init__(f"the text model gave no answer: {reason}")


class Answer(msgspec.Struct, Generic[T], frozen=True):
    value: T
    model: str
    version: int  # of the prompt text
    input_tokens: int
    output_tokens: int


def fitting(text: str, schema: type[T]) -> T:
    """The one JSON document in the text, which may stand in a fence. Raises `NoAnswer`."""
    text = text.strip()
    if text.startswith("```") and text.endswith("```"):
        text = text[3:-3].removeprefix("json").strip()
    try:
        return msgspec.json.decode(text, type=schema)
    except msgspec.ValidationError as error:
        raise NoAnswer("misfit") from error
    except (msgspec.DecodeError, UnicodeError) as error:
        raise NoAnswer("unreadable") from error


def schema_document(schema: type[Any]) -> dict[str, Any]:
    """The JSON schema of a class without a reference at the top, which not every endpoint follows."""
    _, parts = msgspec.json.schema_components((schema,), ref_template="#/$defs/{name}")
    top = parts.pop(schema.__name__)
    return {**top, "$defs": parts} if parts else top


HABITS_PER_QUOTE_MAX = 3
QUOTE_CHARACTERS_MAX = 400
Confidence = Annotated[float, msgspec.Meta(ge=0, le=1)]
Quote = Annotated[str, msgspec.Meta(min_length=2, max_length=QUOTE_CHARACTERS_MAX)]


class Disbelieved(Exception):
    """The answer fits its schema, but not the data."""


class Quoted(msgspec.Struct, forbid_unknown_fields=True):
    habit: BooleanName
    quote: Quote


Said = bool | Literal["unsure"] | None  # of a boolean; None: it does not apply
QUOTED: frozenset[BooleanName] = frozenset(
    {"goal_explicit", "scope_bounded", "references_concrete", "verification_requested"}  # need words to point at
)


class RubricAnswer(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    intent: Intent | Literal["unclassified"]
    confidence: Confidence
    goal_explicit: Said = None
    scope_bounded: Said = None
    references_concrete: Said = None
    context_sufficient: Said = None
    verification_requested: Said = None
    root_cause_oriented: Said = None
    plan_first: Said = None
    quotes: Annotated[list[Quoted], msgspec.Meta(max_length=2 * len(BOOLEANS))] = []


class OutcomeAnswer(msgspec.Struct, forbid_unknown_fields=True):
    complete: bool | Literal["undecided"]
    confidence: Confidence


class GapAnswer(msgspec.Struct, forbid_unknown_fields=True):
    turn: int
    new_topic: bool
    confidence: Confidence
    quote: Quote


class BoundaryAnswer(msgspec.Struct, forbid_unknown_fields=True):
    gaps: list[GapAnswer]


def believed_gaps(answer: BoundaryAnswer, asked: Mapping[int, str]) -> list[GapAnswer]:
    """In the order of `asked`, which holds each turn's prompt as it was sent. Raises `Disbelieved`."""
    by_turn = {each.turn: each for each in answer.gaps}
    if len(answer.gaps) != len(asked) or by_turn.keys() != asked.keys():
        raise Disbelieved("it tells of other turns than those that were asked about")
    for number, prompt in asked.items():
        _quoted([by_turn[number].quote], prompt)
    return [by_turn[number] for number in asked]


class BelievedRubric(NamedTuple):
    intent: Intent | None = None
    earned: tuple[BooleanName, ...] = ()
    unsure: tuple[BooleanName, ...] = ()


def believed_rubric(answer: RubricAnswer, prompt: str, pasted: str = "") -> BelievedRubric:
    """The intent, the habits that are shown, and what the model would not say. Raises `Disbelieved`."""
    found: dict[bool, list[str]] = {True: [], False: []}  # only a reference may stand in what was pasted
    for each in answer.quotes:
        found[each.habit == "references_concrete"].append(each.quote)
    quotes = _quoted(found[False], prompt) + _quoted(found[True], f"{prompt}\n{pasted}")
    if max(Counter(quotes).values(), default=0) > HABITS_PER_QUOTE_MAX:
        raise Disbelieved("it rests nearly everything on one quote")
    if answer.intent == "unclassified":
        return BelievedRubric()
    shown = {each.habit for each in answer.quotes}
    said: dict[BooleanName, Said] = {name: getattr(answer, name) for name in applicable(answer.intent)}
    # What needs words to point at and has none is unsure, as is what was left out.
    said |= {name: "unsure" for name, value in said.items() if value is True and name in QUOTED - shown}
    earned = tuple(name for name, value in said.items() if value is True)
    return BelievedRubric(answer.intent, earned, tuple(name for name in said if said[name] in (None, "unsure")))


def _quoted(quotes: list[str], prompt: str) -> list[str]:
    """The quotes without what may differ. Raises `Disbelieved` where the prompt has not all of them."""
    said, *plain = (" ".join(text.split()).casefold() for text in (prompt, *quotes))
    if any(quote not in said or not quote for quote in plain):
        raise Disbelieved("it quotes words that are not there")
    return plain


Json = dict[str, "Json"] | list["Json"] | str | int | float | bool | None
_ADDRESSED = re.compile(
    r"\b(ignor\w*|disregard\w*|forget|overrid\w*|bypass)\b[^.!?\n]{0,60}"
    r"\b(rubric|instructions?|rules?|prompts?|schema|above|previous|criteria)\b"
    r"|\b(mark|set|rate|score|grade|judge|label|answer|return|output|give)\b[^.!?\n]{0,40}"
    r"\b(all|everything|every\w*|each)\b[^.,;!?\n]{0,25}\b(true|complete\w*|earned|pass\w*|a\+|100)\b"
    r"|\b(you are|act as|as) (the|a|an)\b[^.!?\n]{0,20}\b(judge|grader|evaluator)\b"
    r"|\bsystem (prompt|message)\b|<\|[^|\n]{1,40}\|>|\b(goal_complete|new_topic)\b"
    r"|(루브릭|지시|지침|규칙|프롬프트)[^.!?\n]{0,20}무시|모두[^.!?\n]{0,20}(참|true|완료)",
    re.IGNORECASE,
)
_SENTENCE = re.compile(r"[^.!?\n]*[.!?\n]*")


def leaving(value: Json) -> Json:
    """The same data, redacted, and without sentences that tell a judge what to say."""
    from aggregates.reading.redaction import redact  # late: loaded with the first text

    match value:
        case str():
            text = redact(value).text
            if _ADDRESSED.search(text) is None:
                return text
            return "".join(found for found in _SENTENCE.findall(text) if not _ADDRESSED.search(found)).rstrip()
        case list():
            return [leaving(each) for each in value]
        case dict():
            return {name: leaving(each) for name, each in value.items()}
        case _:
            return value
