"""Taking work back concerns the files that a command names (scoring.md, section 4)."""

import pytest

from aggregates.event import Digester
from aggregates.judging.outcome import REVERTED
from aggregates.turns.turn import covered, path_parts
from projections.derive.sub_session_rows import Detail
from projections.reader import unpack
from tests.support.facts import DAY, MINUTE, MONDAY, SECOND, Log, edit, project, request, shell
from tests.support.tables import beside, table

ASK = "Make src/parser.py return an empty list for an empty file, and run the tests."
OTHER = "Put the changelog in order."
DIGESTER = Digester(b"names")


@beside()
def test_a_path_names_a_file_or_a_folder_above_it(named: str, file: str, holds: bool) -> None:
    assert covered([path_parts(file, DIGESTER)], [path_parts(named, DIGESTER)]) == holds


def work(command: str, *paths: str) -> Log:
    """A goal with some edits, and a command after them."""
    log = Log()
    log.prompt("s", ASK, MONDAY)
    edits = [edit(MONDAY + (place + 1) * SECOND, f"/home/ana/app/{path}") for place, path in enumerate(paths)]
    log.records("s", *edits, shell(MONDAY + MINUTE, command), request(MONDAY + MINUTE + SECOND))
    return log.passes(MONDAY + DAY)


@beside()
def test_work_is_reverted_within_where_half_of_it_is(command: str, paths: list[str], reverted: bool) -> None:
    log = work(command, *paths)
    row = project(log.facts).execute("SELECT detail FROM sub_sessions").fetchone()
    against = {piece.what for piece in unpack(row[0], Detail).outcome.evidence_against}
    assert (REVERTED in against) == reverted


@table(
    ("command", "rework"),
    {
        "the changed file": ("git checkout HEAD~1 -- src/parser.py", True),
        "the changed file, from within its folder": ("cd src && git restore parser.py", True),
        "another file": ("git checkout -- package-lock.json", False),
    },
)
@pytest.mark.parametrize("late", [False, True])
def test_a_later_session_that_restores_the_changed_file_is_rework(command: str, rework: bool, late: bool) -> None:
    first, second = Log(), Log()
    first.prompt("a", ASK, MONDAY)
    done = [edit(MONDAY + SECOND, "/home/ana/app/src/parser.py"), shell(MONDAY + 2 * SECOND, "pytest -q")]
    first.records("a", *done, request(MONDAY + 3 * SECOND))
    second.facts, second.now_us = ([], MONDAY) if late else (first.facts, first.now_us)
    second.prompt("b", OTHER, MONDAY + DAY)
    second.records("b", shell(MONDAY + DAY + SECOND, command), request(MONDAY + DAY + 2 * SECOND))
    if late:
        later = second.facts
        second.facts = []
        for each in (*later, *first.facts):
            second.facts.append(type(each)(len(second.facts) + 1, each.event))
    db = project(second.passes(MONDAY + 3 * DAY).facts, batches=range(1, 9))
    found = dict(db.execute("SELECT agent_session_id, rework_of IS NOT NULL FROM sub_sessions"))
    assert found == {"a": 0, "b": int(rework)}
