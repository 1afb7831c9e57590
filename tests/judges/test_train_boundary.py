"""What the boundary judge learns from, and that it learns."""

from pathlib import Path

import msgspec
import pytest

from aggregates.judging.boundary import BoundaryModel
from tests.judges.labels import SESSION_MARKS, digest_of, written_sessions
from tests.judges.names import SIGNALS
from tests.judges.train_boundary import GOES_ON, boundary_rows, further_sessions, rate_cut, source_of, train_boundary


def test_the_written_sessions_are_cut_into_arcs_that_cover_them() -> None:
    """Every one opens with a goal, and they hold some boundaries."""
    sessions = written_sessions()
    assert all(session.arcs and session.arcs[0].start == 1 for session in sessions)
    assert all(session.arcs and session.arcs[-1].end == len(session.turns) for session in sessions)
    assert sum(len(session.arcs or ()) - 1 for session in sessions) >= 20


def test_training_twice_writes_the_same_file_and_the_judge_reads_it() -> None:
    """No randomness, no order of hashing; names of signals only."""
    sessions = written_sessions()
    one, two = (source_of(train_boundary(sessions[:8], sessions[8:])) for _ in range(2))
    assert one == two
    assert msgspec.json.decode(one, type=BoundaryModel).weights.keys() <= set(SIGNALS)


def test_it_learns_what_it_is_shown() -> None:
    """On its own training sessions it is right most of the time."""
    sessions = written_sessions()
    model = train_boundary(sessions)
    rows, targets, _ = boundary_rows(sessions)
    logits = [model.logit([SIGNALS[number] for number in row]) for row in rows]
    assert sum((logit > 0) is target for logit, target in zip(logits, targets, strict=True)) >= 0.8 * len(rows)


def test_no_signal_speaks_against_what_it_is_there_for() -> None:
    """What a few sessions say against it is chance, and left out."""
    assert set(SIGNALS) >= GOES_ON
    weights = train_boundary(written_sessions()[::2]).weights
    assert {name for name, weight in weights.items() if (weight < 0) is not (name in GOES_ON)} == set()


@pytest.mark.parametrize(("true", "above"), [(0, 0), (8, 8), (16, 15), (19, 18)])
def test_the_cut_lets_nearly_as_many_through_as_are_true(true: int, above: int) -> None:
    """Of nothing true, nothing."""
    logits = [float(place) - 100 for place in range(19)]
    cut = rate_cut(logits, [place < true for place in range(19)])
    assert sum(logit > cut for logit in logits) == above


def test_marks_name_sessions_by_digest_alone(tmp_path: Path) -> None:
    """And a folder without them gives the written ones."""
    assert all(len(name) == len(digest_of("any")) for name in SESSION_MARKS)
    assert all(list(turns) == sorted(set(turns)) and 1 not in turns for turns in SESSION_MARKS.values())
    assert len(further_sessions(tmp_path)) == len(written_sessions())
