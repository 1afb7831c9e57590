"""What is kept of a text that is deleted: the numbers that the judges read from it.

Readings are kept rather than verdicts, since everything is concluded from readings: a replay gives the same scores
without the words, and an override or a new price still takes effect. A reading holds numbers and keyed digests.
"""

import zlib
from collections.abc import Iterable
from struct import iter_unpack
from typing import Any, ClassVar
from uuid import UUID

import msgpack
import msgspec

from aggregates.capture.events import PromptAnswered, PromptCaptured, RecordsCaptured
from aggregates.event import DeveloperEvent, Digester, Event, SentEvent, Words
from aggregates.judging.rubric import JoinedReading
from aggregates.reading.readings import NAMED, OPENINGS, PromptReading, ResponseReading
from aggregates.turns.turn import Observation, observe

FORM = 2  # counted up whenever a reading changes its shape otherwise than by a field at its end


class RetainedReading(msgspec.Struct, frozen=True, array_like=True, omit_defaults=True):
    position: int
    text_digest: int | None = None
    prompt: PromptReading | None = None
    response: ResponseReading | None = None
    observations: tuple[tuple[int, Observation], ...] = ()  # of records whose texts show something, with their places
    alike: tuple[tuple[int, int, int], ...] = ()
    """Texts that are alike: where one begins in this fact, and the position and the beginning of the other."""
    joined: tuple[JoinedReading, ...] = ()  # of prompts in this fact that were graded together with others


class RetainedWords(Words, frozen=True):
    """Words whose reading is known: they are gone, or were read before. Only made when a fact is read; never stored."""

    standing: RetainedReading


class ReadingsRetained(DeveloperEvent, frozen=True, kw_only=True, omit_defaults=True):
    TOPIC: ClassVar[str] = "standing.sealed"
    first: int
    last: int  # positions of the first and the last fact it tells of; of this developer's only
    form: int
    rows: bytes


class ForgetOrdered(SentEvent, frozen=True, kw_only=True, omit_defaults=True):
    """Somebody ordered that a developer be forgotten: it is carried out from now on, whatever breaks meanwhile."""

    TOPIC: ClassVar[str] = "forget.ordered"


class DeveloperForgotten(DeveloperEvent, frozen=True, kw_only=True, omit_defaults=True):
    """The developer's words up to here are gone for good; what they showed stands."""

    TOPIC: ClassVar[str] = "developer.forgotten"
    up_to: int


class WordsExpired(Event, frozen=True, kw_only=True, omit_defaults=True):
    """Texts of an organization that had outlived their retention were taken away, up to this position."""

    TOPIC: ClassVar[str] = "words.expired"
    organization_id: UUID
    kind: str  # `telemetry`: exports as received; `text`: what people and agents wrote
    up_to: int
    events: int  # how many facts lost a text since the one before


def packed_readings(rows: Iterable[RetainedReading]) -> bytes:
    return zlib.compress(msgspec.msgpack.encode(list(rows)), 1)


def retained_readings(event: ReadingsRetained) -> list[RetainedReading]:
    """The rows of a `ReadingsRetained`. ValueError: they are not of a form that this program knows."""
    packed = zlib.decompress(event.rows)
    if event.form == 1:
        return msgspec.convert(_from_form_1(msgpack.unpackb(packed)), list[RetainedReading])
    if event.form != FORM:
        raise ValueError(f"what stands from position {event.first} is of form {event.form}, known is {FORM}")
    return msgspec.msgpack.decode(packed, type=list[RetainedReading])


_PROMPT, _OBSERVATIONS = map(RetainedReading.__struct_fields__.index, ("prompt", "observations"))
_OBSERVED_PROMPT = Observation.__struct_fields__.index("prompt")
_FLAGS, _SUMS, _OPENING = 8, 9, 12
"""Places in a reading of form 1. Flags and opening: a bit for each of `NAMED`, openings apart. Sums: the logits, each
2^31 greater, in 32 bits."""
_OPENINGS_AT = NAMED.index(OPENINGS[0])  # they were the last ones then


def _from_form_1(rows: list[Any]) -> list[Any]:
    for row in rows:
        readings = [row[_PROMPT], *(observed[_OBSERVED_PROMPT] for _, observed in row[_OBSERVATIONS])]
        for reading in filter(None, readings):
            bits = reading[_FLAGS] | reading.pop(_OPENING) << _OPENINGS_AT
            reading[_FLAGS] = [place for place in range(len(NAMED)) if bits >> place & 1]
            reading[_SUMS] = [lane - 2**31 for (lane,) in iter_unpack("<I", reading[_SUMS])]
    return rows


def retain(position: int, event: Event, digester: Digester) -> RetainedReading | None:
    """What stands of the texts of an event; None where they are gone, or show nothing."""
    from aggregates.reading.reading import read_prompt, read_response, text_digest  # late: loaded with the first text

    match event:
        case PromptCaptured(prompt=RetainedWords(standing=standing)):
            return standing
        case PromptAnswered(response=RetainedWords(standing=standing)):
            return standing
        case PromptCaptured(prompt=Words(text=str(text))):
            digest = text_digest(text, digester)
            return RetainedReading(position, text_digest=digest, prompt=read_prompt(text, digester))
        case PromptAnswered(response=Words(text=str(text))):
            return RetainedReading(position, response=read_response(text, digester))
        case RecordsCaptured(records=records, words=Words(text=str()) as words):
            seen = {place: observe(each, words, digester) for place, each in enumerate(records) if each.kind != "other"}
            shown = [at for at, what in seen.items() if what != observe(records[at], Words(None), digester)]
            return RetainedReading(position, observations=tuple((at, seen[at]) for at in shown)) if shown else None
    return None


def retained_observations(words: Words) -> dict[int, Observation]:
    return dict(words.standing.observations) if isinstance(words, RetainedWords) else {}
