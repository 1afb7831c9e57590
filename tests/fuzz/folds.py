"""The folds over what one developer sent, as targets of `linear`: each letter of a text is one thing that happened."""

from collections.abc import Callable, Iterator, Sequence

from msgspec.structs import replace

from aggregates.event import Digester
from aggregates.records.tools import changed_lines
from aggregates.scores.insights import times_at_once
from aggregates.scores.integrity import clears_of, flags_of_session, session_splitting, turn_evidence
from aggregates.scores.throttle import ApiRequest, throttle_events
from aggregates.sub_sessions.arcs import ReworkView, cut_arcs, rework_of, unsure_gaps
from aggregates.turns.turn import Turn, active_us, sum_work
from aggregates.turns.turns import Capture, PlacedObservation, build_turns
from projections.derive.sub_session_rows import model_totals, work_by_file
from tests.fuzz.linear import Target
from tests.support.stages import MINUTE, SECOND, capture, prompt, seen, tool, turn_at, uuid, worked

SHORT = 256  # things that happen at the shorter length
_DIGESTER = Digester(b"a key for tests")
_CAPTURED = {name: capture(1, "plugin", text=name) for name in "pq"} | {"l": capture(1, "log", text="p")}
_CAPTURED |= {
    "t": capture(1, "transcript", text="p"),
    "n": capture(1, "log", text=None),
    "h": capture(1, host="h", text="p"),
}
_PROMPTS = {
    "g": prompt("words over 6", topic="invoices"),
    "n": prompt("words over 6", "words over 25", opens=("names a new task", "begins with now")),
    "k": prompt(navigational="acknowledgement"),
    "c": prompt(navigational="command", clears=True),
    "b": None,
}
_WORK = {"g": worked("CM", changed=(1,)), "n": worked("E", changed=range(8)), "k": worked("r", read=range(9))}


def captures_of(text: str) -> list[Capture]:
    """A capture a second; what is no letter of a capture lets three minutes pass."""
    made, at_us = list[Capture](), 0
    for number, letter in enumerate(text):
        at_us += SECOND if letter in _CAPTURED else 3 * MINUTE
        if letter in _CAPTURED:
            made.append(replace(_CAPTURED[letter], capture_id=uuid(number), at_us=at_us, position=number))
    return made


def reports_of(text: str) -> list[PlacedObservation]:
    kinds = {"e": "session_end", "s": "session_start", "l": "llm_request"}
    return [seen(kinds.get(letter, "tool"), SECOND * number, tool=tool()) for number, letter in enumerate(text)]  # type: ignore[arg-type]


def turns_of(text: str) -> list[Turn]:
    return [
        turn_at(number, _PROMPTS.get(letter, _PROMPTS["g"]), work=_WORK.get(letter, _WORK["g"]), lasts_us=SECOND)
        for number, letter in enumerate(text)
    ]


def requests_of(text: str) -> list[ApiRequest]:
    made, at_us = list[ApiRequest](), 0
    for number, letter in enumerate(text):
        at_us += {"m": 3 * MINUTE, "d": 30 * MINUTE, "z": 0}.get(letter, SECOND)
        status = {"4": 429, "5": 503, "r": 500}.get(letter)
        wait_ms, took_ms = 5_000 if letter == "r" else None, 90_000 if letter == "s" else 1_000
        model, failed = "opus" if letter != "o" else "other", status is not None
        made.append(ApiRequest(at_us, f"{number:09}", "s", "t", model, failed, status, wait_ms, took_ms))
    return made


def reworked(text: str) -> object:
    views = [
        ReworkView(
            uuid(at), "s", at * SECOND, at * SECOND + 1, letter != "n", (at,), (1, at), (at, 2), letter == "r", True
        )
        for at, letter in enumerate(text)
    ]
    return rework_of(views[-1], views)


def flagged(text: str) -> object:
    signs = [
        replace(turn_evidence(turn), alike=letter == "a") for turn, letter in zip(turns_of(text), text, strict=True)
    ]
    return flags_of_session("s", signs), session_splitting(clears_of("s", signs))


def edited(text: str) -> object:
    half = len(text) // 2
    old, new = ("\n".join(part) for part in (text[:half], text[half:]))
    return changed_lines("MultiEdit", {"edits": [{"old_string": old, "new_string": new}] * 2}, None)


def spans_at_once(text: str) -> int:
    return times_at_once((letter, at, at + 5 + ord(letter) % 90) for at, letter in enumerate(text))


def targets() -> Iterator[Target]:
    """Facts are made beforehand in a time that is linear; making them is a part of what is measured."""
    folds: dict[str, tuple[Callable[[str], object], Sequence[str]]] = {
        "build_turns": (lambda text: build_turns("s", captures_of(text), {}, [], openings={}), "pqltnh "),
        "build_turns, many reports": (
            lambda text: build_turns("s", captures_of(text), {}, reports_of(text), openings={}),
            "pqltnes ",
        ),
        "cut_arcs": (lambda text: cut_arcs(turns_of(text), "start", None), "gnkcb"),
        "unsure_gaps": (lambda text: unsure_gaps([], turns_of(text), ()), "gnkcb"),
        "totals": (lambda text: (work_by_file(turns_of(text)), model_totals(turns_of(text))), "gnkcb"),
        "sum_work": (lambda text: sum_work(reports_of(text)), "tesl"),  # type: ignore[arg-type]
        "active_us": (lambda text: active_us(ord(letter) * SECOND * at for at, letter in enumerate(text)), "abz"),
        "throttle_events": (lambda text: throttle_events(requests_of(text)), "45rsamdzo"),
        "throttle_events, others": (
            lambda text: throttle_events(requests_of(text), [], range(0, 10**9, 10**6)),
            "45rsamdz",
        ),
        "rework_of": (reworked, "nra"),
        "integrity": (flagged, "agcnkb"),
        "times_at_once": (spans_at_once, "abcz"),
        "changed_lines": (edited, "abcdefgh"),
    }
    for name, (run, letters) in folds.items():
        yield Target(f"fold {name}", run, tuple(letters), SHORT, per_kib_matters=False)
