"""What an event costs does not grow with what its developer sent before: steps of SQLite and turns read, counted."""

from collections.abc import Callable, Iterator

import pytest

from aggregates.event import Event
from aggregates.judging.boundary import TURNS_MAX
from projections.apply import apply
from tests.support.facts import (
    ANA,
    DIGESTER,
    MONDAY,
    SECOND,
    Log,
    edit,
    empty_views,
    project,
    prompt_name,
    request,
    tables,
)

BATCH = 20
STEPS = 100


def one_goal(log: Log, number: int) -> None:
    # Too far apart for a storm: one that goes on is read as a whole.
    log.prompt("s1", f"go on with part {number} of the parser please", MONDAY + number * 90 * SECOND, name=f"{number}")


def many_goals(log: Log, number: int) -> None:
    text = f"New task: build the a{number}q b{number}r c{number}s d{number}t e{number}u in src/m{number}.py"
    log.prompt("s1", text, MONDAY + number * 20 * SECOND, name=f"{number}")
    log.records("s1", {"kind": "session_end", "source": "exit", "at_us": MONDAY + (number * 20 + 10) * SECOND})


def files_of_their_own(log: Log, number: int) -> None:
    session, at_us = f"session-{number}", MONDAY + number * 20 * SECOND
    log.claim(session).prompt(session, "Fix the crash in the parser please", at_us, name=f"{number}")
    log.records(session, edit(at_us + SECOND, path=f"src/{number}.py"))


def copies(log: Log, number: int) -> None:
    session, at_us = f"session-{number}", MONDAY + number * 20 * SECOND
    log.claim(session).prompt(session, "Fix the crash in the parser please", at_us, name="copy", host_prompt_id="p")
    log.records(session, request(at_us + SECOND, request_id="r", prompt_id="p"))


def after_a_boundary_of_ones_own(log: Log, number: int) -> None:
    many_goals(log, number)
    if number == 1:
        log.corrects_gap("s1", prompt_name("s1", "1", MONDAY + 20 * SECOND), False)


def costs(tell: Callable[[Log, int], None], *places: int) -> Iterator[int]:
    """Steps of SQLite that a batch takes after so many turns of the same developer."""
    log, db, taken, known = Log(ANA).claim("s1"), empty_views(), [0], dict[int, Event]()

    def count() -> None:
        taken[0] += STEPS

    db.set_progress_handler(count, STEPS)
    for number in range(places[-1] + BATCH + 1):
        if number in places or number - BATCH in places:
            taken[0], batch = 0, log.facts[len(known) :]
            known.update((fact.position, fact.event) for fact in batch)
            apply(db, batch, b"", lambda _: DIGESTER, lambda wanted: {each: known[each] for each in wanted})
        if number - BATCH in places:
            yield taken[0]
        tell(log, number)


@pytest.mark.parametrize("tell", [one_goal, many_goals, files_of_their_own, after_a_boundary_of_ones_own])
def test_an_event_costs_as_much_after_many_turns_as_after_some(tell: Callable[[Log, int], None]) -> None:
    """Each place is fifty turns into an arc. From twice the turns of one sub-session on, the tail is as long as it
    gets."""
    few, some, many = costs(tell, 50, 2 * TURNS_MAX + 50, 3 * TURNS_MAX + 50)
    assert some <= 1.3 * few
    assert many <= 1.1 * some


def test_a_prompt_that_many_sessions_tell_costs_little_more_than_one_that_some_tell() -> None:
    some, many = costs(copies, 250, 500)
    assert many <= 1.25 * some


def test_a_long_session_gives_the_same_rows_however_it_was_cut() -> None:
    log = Log(ANA).claim("s1")
    for number in range(TURNS_MAX + 30):
        one_goal(log, number)
    at_once = tables(project(log.facts))
    assert tables(project(log.facts, range(0, len(log.facts), 37))) == at_once
    assert tables(project(log.facts[::-1], range(0, len(log.facts), 61))) == at_once


def test_more_work_of_a_turn_builds_it_and_the_one_before_again() -> None:
    """The one before may get a closing; what lies further back stays as it is, also where the work begins the turn."""
    log = Log(ANA).claim("s1")
    for number in range(5):
        one_goal(log, number)
    newest_us = log.now_us
    db = project(log.facts)
    db.execute("CREATE TEMP TABLE gone (at_us)")
    db.execute("CREATE TEMP TRIGGER built AFTER DELETE ON turns BEGIN INSERT INTO gone VALUES (old.started_us); END")
    log.records("s1", edit(newest_us))
    apply(db, log.facts[-1:], b"", lambda _: DIGESTER, lambda _: {})
    assert db.execute("SELECT at_us FROM gone").fetchall() == [(newest_us - 90 * SECOND,), (newest_us,)]
