"""What sub-sessions keep of their turns: files and models, added up."""

from aggregates.turns.turn import ModelUsage, Work
from projections.derive.sub_session_rows import ModelTotals, model_totals
from tests.support.facts import MINUTE, MONDAY, SECOND, Log, edit, project
from tests.support.stages import turn_at, usage
from tests.support.tables import table


def test_files_are_added_up_over_turns() -> None:
    """Edits in a turn that told no changed line stand apart; so does the last moment of whoever touched the file."""
    log = Log()
    for minute, added in ((0, 3), (2, 0), (4, 0)):
        log.prompt("s1", f"go on with part {minute}", MONDAY + minute * MINUTE, cwd_digest=7)
        log.records("s1", edit(MONDAY + minute * MINUTE + SECOND, added=added, lines_removed=0))
    columns = "edits, lines_added, lines_removed, edits_without_lines, seen_us"
    found = project(log.facts).execute(f"SELECT {columns} FROM sub_session_files").fetchall()
    assert found == [(3, 3, 0, 2, MONDAY + 4 * MINUTE + SECOND)]


@table(
    ("usages", "totals"),
    {
        "no request: nothing was reported of nobody": ([], [ModelTotals(None)]),
        "one token": ([usage("opus", output_tokens=1)], [ModelTotals("opus", 1, 1, True)]),
        "none in one turn": ([usage("opus"), usage("opus", output_tokens=1)], [ModelTotals("opus", 2, 1)]),
        "tokens of all kinds; a model that nobody named has no name": (
            [usage("unknown", unpriced_requests=1), ModelUsage("opus", 2, 3, 4, 5, 6, 7, 0, 1)],
            [ModelTotals(None, 1, unpriced_requests=1), ModelTotals("opus", 2, 18, True, 7, 0, 1)],
        ),
    },
)
def test_models_are_added_up_over_turns(usages: list[ModelUsage], totals: list[ModelTotals]) -> None:
    """No request goes without a token: a model of which a turn told none did not report them."""
    assert model_totals(turn_at(number, work=Work(usage=(each,))) for number, each in enumerate(usages)) == totals
