"""Merging: which neighbouring arcs are one sub-session, on each side of every bound."""

import pytest

from aggregates.sub_sessions.arcs import Arc, BoundaryKind, belongs_to
from tests.support.stages import MINUTE, arc_of

CLOSED_US = 60 * MINUTE
HOME, ELSEWHERE = 7, 8


def closed(
    by: BoundaryKind | None = "end",
    *,
    at_us: int | None = CLOSED_US,
    cwd: int | None = HOME,
    touched: tuple[int, ...] = (1, 2),
) -> Arc:
    return arc_of(1, closed_by=by, closed_us=at_us, cwd=cwd, touched=touched)


def opened(
    *,
    after_us: int = MINUTE,
    cwd: int | None = HOME,
    touched: tuple[int, ...] = (1, 2),
    said: bool | None = None,
    session: str = "another",
) -> Arc:
    return arc_of(2, session=session, started_us=CLOSED_US + after_us, cwd=cwd, touched=touched, said=said)


@pytest.mark.parametrize(
    ("earlier", "later", "merges"),
    [
        pytest.param(closed("end"), opened(), True, id="an arc after the session's end goes on"),
        pytest.param(closed("clear"), opened(), True, id="an arc after a clear goes on"),
        pytest.param(closed("clear"), opened(session="session"), True, id="an arc of the same agent session goes on"),
        pytest.param(closed("topic"), opened(), False, id="never after a topic shift"),
        pytest.param(closed("commit"), opened(), False, id="never after a commit"),
        pytest.param(closed("person"), opened(), False, id="never after a split that a person said"),
        pytest.param(closed("start"), opened(), False, id="never where nothing was said to close it"),
        pytest.param(closed(None, at_us=None), opened(), False, id="never after a silence alone"),
        pytest.param(closed("end", at_us=None), opened(), False, id="never where nobody knows when it closed"),
        pytest.param(closed(), opened(after_us=0), True, id="at the very close it goes on"),
        pytest.param(closed(), opened(after_us=-1), False, id="before the close it does not"),
        pytest.param(closed(), opened(after_us=10 * MINUTE), True, id="ten minutes after the close it goes on"),
        pytest.param(closed(), opened(after_us=10 * MINUTE + 1), False, id="over ten minutes after it does not"),
        pytest.param(closed(), opened(cwd=ELSEWHERE), False, id="never in another directory"),
        pytest.param(closed(), opened(cwd=None), False, id="never where the later directory is unknown"),
        pytest.param(closed(cwd=None), opened(), False, id="never where the earlier directory is unknown"),
        pytest.param(closed(cwd=None), opened(cwd=None), False, id="two unknown directories are not the same"),
        pytest.param(closed(touched=(1, 2)), opened(touched=(2, 3)), True, id="half of the files are enough"),
        pytest.param(closed(touched=(1, 2, 3)), opened(touched=(3, 4, 5)), False, id="a third of the files is not"),
        pytest.param(closed(touched=()), opened(), False, id="never without files before"),
        pytest.param(closed(), opened(touched=()), False, id="never without files after"),
        pytest.param(closed("topic", cwd=None), opened(said=False), True, id="a person joins across anything"),
        pytest.param(closed(), opened(said=True), False, id="a person parts what would be one"),
    ],
)
def test_a_clear_or_an_end_is_bridged_by_time_place_and_files(earlier: Arc, later: Arc, merges: bool) -> None:
    """Within ten minutes, in one known directory, sharing half of the smaller set; a person's word goes first."""
    assert belongs_to([earlier], later) is merges


def test_the_files_of_all_merged_arcs_count_and_the_time_of_the_last_one() -> None:
    """A third arc may go on with what only the first one touched."""
    first = closed(touched=(1, 2))
    second = arc_of(2, started_us=CLOSED_US, closed_by="clear", closed_us=CLOSED_US + 5 * MINUTE, touched=(2, 3))
    third = arc_of(3, started_us=CLOSED_US + 15 * MINUTE, touched=(1, 9))
    assert belongs_to([first, second], third)
    assert not belongs_to([second], third)
    assert not belongs_to([second, first], third)
