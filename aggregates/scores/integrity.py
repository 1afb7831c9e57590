"""The six kinds of integrity flags (scoring.md, section 6). A flag lowers nothing by itself."""

from collections.abc import Iterable, Sequence
from typing import Literal, TypeVar, get_args
from uuid import UUID

import msgspec

from aggregates.reading.readings import HEAD_CHARS, SHORT_WEIGHT, TAIL_CHARS
from aggregates.sub_sessions.arcs import shares_half
from aggregates.times import US_PER_SECOND, bursts, iso
from aggregates.turns.turn import Turn

FlagKind = Literal[
    "auto_retry_storm", "tiny_prompt_burst", "session_splitting", "pasted_inflation", "clock_skew", "foreign_session"
]
KINDS: tuple[FlagKind, ...] = get_args(FlagKind)
STORM_PROMPTS_MIN = 3
STORM_GAP_US = 60 * US_PER_SECOND
UNLIKE_SHARE = 5  # two texts are alike while no more than one in five characters of the longer differs: 80 %
BURST_PROMPTS_MIN = 5
BURST_US = 5 * 60 * US_PER_SECOND
CLEARS_MIN = 5
CLEARS_US = 30 * 60 * US_PER_SECOND
PASTED_CHARS_OVER = 2_000
PASTED_TENTHS_OVER = 9


class TurnEvidence(msgspec.Struct, frozen=True, array_like=True):
    turn_id: UUID
    at_us: int
    characters: int | None  # of the prompt; None where its text was not captured
    pasted_characters: int
    tiny: bool
    files: tuple[int, ...]
    cleared_us: int | None  # when a clear closed the session after it; None where none did
    alike: bool = False  # whether its prompt follows within a minute on one that is at least 80 % alike


class Clear(msgspec.Struct, frozen=True, array_like=True):
    at_us: int
    agent_session_id: str
    turn_id: UUID
    files: tuple[int, ...]  # of the work that it put an end to


_T = TypeVar("_T", TurnEvidence, Clear)


class Skew(msgspec.Struct, frozen=True):
    received_us: int
    ahead_us: int


class IntegrityFinding(msgspec.Struct, frozen=True):
    """Something to flag: what was counted, from the first to the last of it."""

    kind: FlagKind
    detected_us: int  # when there was enough of it to fire
    agent_session_id: str | None
    turn_id: UUID | None
    count: int
    first_us: int
    last_us: int
    more: dict[str, int] = {}  # further numbers about it, by their names on the wire

    @property
    def window_seconds(self) -> int:
        """From the first to the last of what was counted, a begun second whole."""
        return -(-(self.last_us - self.first_us) // US_PER_SECOND)

    @property
    def details(self) -> dict[str, int | str]:
        return {"first_at": iso(self.first_us), "last_at": iso(self.last_us), **self.more}


def turn_evidence(turn: Turn) -> TurnEvidence:
    """All but whether it is like the prompt before, which takes the texts."""
    reading = turn.prompt
    characters, pasted = (None, 0) if reading is None else (reading.characters, reading.pasted_characters)
    tiny = reading is not None and reading.weight + pasted < SHORT_WEIGHT
    cleared_us = turn.closed_us if turn.closed_by == "clear" else None
    files = tuple(sorted(turn.work.touched_files))
    return TurnEvidence(turn.turn_id, turn.started_us, characters, pasted, tiny, files, cleared_us)


def may_be_alike(earlier: TurnEvidence, later: TurnEvidence) -> bool:
    """Whether two neighbours are near enough in time and length that their texts must be compared."""
    if earlier.characters is None or later.characters is None or later.at_us - earlier.at_us > STORM_GAP_US:
        return False
    lengths = (earlier.characters, later.characters)
    return UNLIKE_SHARE * (max(lengths) - min(lengths)) <= max(lengths)


def alike(one: str, other: str) -> bool:
    """Whether 1 - Levenshtein distance / longer length is 0.8 or more; of a text over 32 KiB, over head and tail."""
    from rapidfuzz.distance import Levenshtein  # late: loaded with the first two texts that may be alike

    bounded = (text[:HEAD_CHARS] + text[HEAD_CHARS:][-TAIL_CHARS:] for text in (one, other))
    shorter, longer = sorted(bounded, key=len)
    distance_max = len(longer) // UNLIKE_SHARE
    return Levenshtein.distance(shorter, longer, score_cutoff=distance_max) <= distance_max


def flags_of_session(agent_session_id: str, signs: Sequence[TurnEvidence]) -> list[IntegrityFinding]:
    """Storms, bursts and pasted prompts of one session, whose signs are given in time order."""
    runs: list[list[TurnEvidence]] = []
    for sign in signs:
        if not runs or not sign.alike:
            runs.append([])
        runs[-1].append(sign)
    storms = (run for run in runs if len(run) >= STORM_PROMPTS_MIN)
    tiny = _crowds([sign for sign in signs if sign.tiny], BURST_PROMPTS_MIN, BURST_US)
    found = [_counted("auto_retry_storm", agent_session_id, run, STORM_PROMPTS_MIN) for run in storms]
    found += [_counted("tiny_prompt_burst", agent_session_id, crowd, BURST_PROMPTS_MIN) for crowd in tiny]
    for sign in signs:
        whole, pasted = sign.characters or 0, sign.pasted_characters
        if whole > PASTED_CHARS_OVER and 10 * pasted > PASTED_TENTHS_OVER * whole:
            lengths = {"characters": whole, "pasted_characters": pasted}
            found.append(_counted("pasted_inflation", agent_session_id, [sign], 1, **lengths))
    return found


def _crowds(things: Sequence[_T], least: int, within_us: int) -> list[Sequence[_T]]:
    return [things[each.start : each.stop] for each in bursts([thing.at_us for thing in things], least, within_us)]


def _counted(
    kind: FlagKind, agent_session_id: str, counted: Sequence[TurnEvidence | Clear], least: int, **more: int
) -> IntegrityFinding:
    """What was counted; the `least` of it made it enough."""
    times, turn_id = sorted(each.at_us for each in counted), counted[least - 1].turn_id
    return IntegrityFinding(kind, times[least - 1], agent_session_id, turn_id, len(times), times[0], times[-1], more)


def clears_of(agent_session_id: str, signs: Sequence[TurnEvidence]) -> list[Clear]:
    clears: list[Clear] = []
    files: set[int] = set()
    for sign in signs:
        files.update(sign.files)
        if sign.cleared_us is not None:
            clears.append(Clear(sign.cleared_us, agent_session_id, sign.turn_id, tuple(sorted(files))))
            files = set()
    return [clear for clear in clears if clear.files]


def session_splitting(clears: Iterable[Clear]) -> list[IntegrityFinding]:
    """Five clears of a developer within half an hour over the same files; a clear may give a new session id."""
    chains: list[list[Clear]] = []
    for clear in sorted(clears, key=lambda each: (each.at_us, each.agent_session_id, each.turn_id)):
        for chain in reversed(chains):
            last, files = chain[-1], frozenset(clear.files)
            if clear.at_us - last.at_us <= CLEARS_US and shares_half(frozenset(last.files), files):
                chain.append(clear)
                break
        else:
            chains.append([clear])
    crowds = [crowd for chain in chains for crowd in _crowds(chain, CLEARS_MIN, CLEARS_US)]
    sessions = [len({clear.agent_session_id for clear in crowd}) for crowd in crowds]
    return [
        _counted("session_splitting", crowd[CLEARS_MIN - 1].agent_session_id, crowd, CLEARS_MIN, agent_sessions=count)
        for crowd, count in zip(crowds, sessions, strict=True)
    ]


def clock_skew(agent_session_id: str | None, skews: Sequence[Skew]) -> IntegrityFinding:
    """Facts of one session and UTC day, or of none, that told a time more than ten minutes ahead."""
    ahead = {"ahead_seconds": max(skew.ahead_us for skew in skews) // US_PER_SECOND}
    times = sorted(skew.received_us for skew in skews)
    return IntegrityFinding("clock_skew", times[0], agent_session_id, None, len(times), times[0], times[-1], ahead)


def foreign_session(agent_session_id: str, attempted_us: int) -> IntegrityFinding:
    return IntegrityFinding("foreign_session", attempted_us, agent_session_id, None, 1, attempted_us, attempted_us)
