"""Flags of facts: which occur, to which turns they belong, and that the same facts give the same flags."""

from collections.abc import Mapping

import msgspec
import pytest

from aggregates.capture.events import ForeignSessionAttempted, PromptCaptured
from aggregates.event import Event, Words
from projections.apply import apply, bookmark
from projections.derive.integrity import TextsUnavailable
from projections.scores.activity import FlagRow, recent_flags
from tests.support.facts import BEN, DIGESTER, MONDAY, Log, Placed, edit, empty_views, project, reader, tables
from tests.support.stages import HOUR, MINUTE, SECOND
from tests.support.tables import each_of

ASK = "Fix the crash in src/parser.py when the input is empty, please"
LOGGED = "2026-01-05 09:00:00 ERROR could not read the configuration file of the export\n"


def fast_clock(log: Log, by_us: int) -> None:
    """The newest fact was received so much earlier than it says that it happened."""
    fact = log.facts[-1]
    received_us = fact.event.received_at_us - by_us
    log.facts[-1] = Placed(fact.position, msgspec.structs.replace(fact.event, received_at_us=received_us))


def cleared(log: Log, session: str, at_us: int, path: str = "src/app.py", name: str = "") -> None:
    log.prompt(session, f"{ASK} in {path}", at_us, name=f"cleared {name}")
    log.records(session, edit(at_us + 5 * SECOND, path=path, record_id=f"edit {at_us} {name}"))
    end_us = at_us + 10 * SECOND
    log.records(session, {"kind": "session_end", "source": "clear", "at_us": end_us, "record_id": f"{end_us} {name}"})


def storm(*seconds: int) -> Log:
    """Nearly the same prompt again and again."""
    log = Log()
    for number, second in enumerate(seconds):
        log.prompt("s1", f"{ASK} {number}", MONDAY + second * SECOND)
    return log


def recent(log: Log) -> list[FlagRow]:
    return recent_flags(reader(project(log.facts), log.facts), log.scope, 0, 500, 0)


# --- each kind ------------------------------------------------------------------------------------------------


def test_a_storm_of_retries_is_read_from_the_texts() -> None:
    """Four times nearly the same, then something else of the same length."""
    log = storm(0, 30, 60, 90)
    log.prompt("s1", "".join(reversed(ASK)), MONDAY + 4 * 30 * SECOND)
    (found,) = recent(log)
    assert (found.kind, found.count, found.window_seconds) == ("auto_retry_storm", 4, 90)
    assert (found.detected_at, found.agent_session_id) == ("2026-01-05T09:01:00Z", "s1")
    assert found.details == {"first_at": "2026-01-05T09:00:00Z", "last_at": "2026-01-05T09:01:30Z"}


def test_prompts_of_telemetry_are_compared_too() -> None:
    """Their texts lie among others of one batch, and those of a plugin beside them."""
    drafts = [{"kind": "prompt", "at_us": MONDAY + n * 20 * SECOND, "text": f"{ASK} {n}"} for n in range(2)]
    log = Log().claim("s1").records("s1", *drafts)
    log.prompt("s1", f"{ASK} 2", MONDAY + 40 * SECOND)
    assert [(found.kind, found.count) for found in recent(log)] == [("auto_retry_storm", 3)]


def test_forgotten_texts_are_not_alike() -> None:
    """What cannot be read any more is not compared; the lengths alone say nothing."""
    log, db = storm(0, 30, 60), empty_views()
    forgotten = {
        fact.position: msgspec.structs.replace(fact.event, prompt=Words(None))
        for fact in log.facts
        if isinstance(fact.event, PromptCaptured)
    }
    for fact in log.facts:
        apply(db, [fact], b"", lambda _: DIGESTER, lambda wanted: {p: forgotten[p] for p in wanted})
    assert tables(db)["flags"] == []


def test_nothing_is_concluded_while_the_log_cannot_be_read() -> None:
    """The batch is applied as a whole later; it is no failure of the facts. Texts within a batch are at hand."""

    def unreadable(_: object) -> Mapping[int, Event]:
        raise TextsUnavailable("the disk is away")

    log, db = storm(0, 30, 60), empty_views()
    apply(db, log.facts[:2], b"", lambda _: DIGESTER, unreadable)
    before = tables(db)
    with pytest.raises(TextsUnavailable):
        apply(db, log.facts[2:], b"", lambda _: DIGESTER, unreadable)
    assert (bookmark(db).position, tables(db)) == (2, before)


def test_a_pasted_prompt_names_its_sub_session() -> None:
    """Forty lines of a log and a short question."""
    log = Log()
    log.prompt("s1", LOGGED * 40 + "why?", MONDAY)
    (found,) = recent(log)
    assert (found.kind, found.count, found.window_seconds) == ("pasted_inflation", 1, 0)
    assert found.details["characters"] == len(LOGGED * 40 + "why?")
    rows = tables(project(log.facts))
    assert found.score_v3_sub_session_id == rows["sub_sessions"][0][0]


def test_clears_are_counted_across_sessions() -> None:
    """An agent goes on under a new id after each clear; the file stays the same."""
    log = Log()
    for number in range(5):
        cleared(log, f"s{number}", MONDAY + number * 5 * MINUTE)
    (found,) = recent(log)
    assert (found.kind, found.count, found.agent_session_id) == ("session_splitting", 5, "s4")
    assert found.details["agent_sessions"] == 5


def test_clears_by_prompt() -> None:
    """`/clear` within one session ends the work before it."""
    log = Log()
    for number in range(5):
        at_us = MONDAY + number * 5 * MINUTE
        log.prompt("s1", ASK, at_us)
        log.records("s1", edit(at_us + SECOND))
        log.prompt("s1", "/clear", at_us + 10 * SECOND)
    assert [(found.kind, found.count) for found in recent(log)] == [("session_splitting", 5)]


def test_clears_of_somebody_else_are_another_matter() -> None:
    """Three of Ana's and three of Ben's over the same file are nobody's splitting."""
    ana, ben = Log(), Log(BEN)
    for number in range(3):
        cleared(ana, f"a{number}", MONDAY + number * MINUTE)
        cleared(ben, f"b{number}", MONDAY + number * MINUTE)
    ben_facts = [Placed(len(ana.facts) + fact.position, fact.event) for fact in ben.facts]
    assert tables(project([*ana.facts, *ben_facts]))["flags"] == []


@each_of([(10 * MINUTE, []), (10 * MINUTE + 1, ["clock_skew"])])
def test_a_time_ahead_of_the_servers(ahead_us: int, expected: list[str]) -> None:
    log = Log()
    log.prompt("s1", ASK, MONDAY + HOUR)
    fast_clock(log, ahead_us)
    assert [found.kind for found in recent(log)] == expected


def test_a_day_of_wrong_times_is_one_flag() -> None:
    """For each session, and for what names none; counted by facts, an hour ahead at the most."""
    log = Log()
    for number, (session, hours) in enumerate((("s1", 1), ("s1", 1), ("s2", 1), (None, 1), ("s1", 25))):
        log.now_us = MONDAY
        log.records(session, {"kind": "request", "at_us": MONDAY + hours * HOUR + number * MINUTE})
        fast_clock(log, HOUR - number * MINUTE)
    found = recent(log)
    assert [(f.agent_session_id, f.count) for f in found] == [("s1", 1), (None, 1), ("s2", 1), ("s1", 2)]
    assert [f.details["ahead_seconds"] for f in found] == [3360, 3420, 3480, 3600]
    assert {f.score_v3_sub_session_id for f in found} == {None}


def test_a_session_of_somebody_else() -> None:
    """Flagged for whoever tried, under the name that was tried."""
    log = Log()
    owner = {"organization_id": log.scope.organization_id, "developer_id": log.scope.developer_id}
    fact = ForeignSessionAttempted(received_at_us=MONDAY, **owner, agent_session_id="bens")
    log.facts.append(Placed(1, fact))
    (found,) = recent(log)
    assert (found.kind, found.agent_session_id, found.score_v3_sub_session_id) == ("foreign_session", "bens", None)
    assert recent_flags(reader(project(log.facts), log.facts), BEN, 0, 500, 0) == []


# --- late facts ------------------------------------------------------------------------------------------------


def test_a_late_prompt_ends_a_storm_and_takes_its_flag_away() -> None:
    """Something else was said in between, and is heard of only now."""
    log = storm(0, 50, 100)
    assert [found.kind for found in recent(log)] == ["auto_retry_storm"]
    log.prompt("s1", "Now write the README section about exports, with an example", MONDAY + 70 * SECOND)
    assert recent(log) == []
    assert tables(project(log.facts, range(len(log.facts))))["flags"] == []


def test_a_late_clear_joins_two_halves_and_a_further_one_is_counted() -> None:
    """Four clears are none too many; the fifth, heard of late, lies between them; the sixth finds the flag there."""
    log = Log()
    for minute in (0, 5, 15, 20, 10, 25):
        if minute == 10:
            assert recent(log) == []
        cleared(log, f"s{minute}", MONDAY + minute * MINUTE)
    assert [(found.kind, found.count) for found in recent(log)] == [("session_splitting", 6)]
    live = tables(project(log.facts, range(len(log.facts))))
    assert (live["failed"], live) == ([], tables(project(log.facts)))
