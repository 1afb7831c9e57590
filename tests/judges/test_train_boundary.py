"""What the boundary judge learns from, and that it learns."""

import msgspec
import pytest

from aggregates.judging.boundary import BoundaryModel
from tests.judges.labels import SessionItem, session_item
from tests.judges.names import SIGNALS
from tests.judges.train_boundary import (
    EITHER,
    GOES_ON,
    boundary_rows,
    calibrated,
    rate_cut,
    source_of,
    train_boundary,
)

TASKS = ("the invoice export", "our login page", "a nightly import", "the search index", "retry handling")
ANSWERS = ("Done. All tests pass, committed.", "Shall I also change the tests?", "I changed it as you said.")


def session(developer: int, number: int) -> SessionItem:
    """Two goals in six turns: each is asked for as another task, then refined in the words of its answer."""
    turns, starts = [], [1, 4]
    for place in range(6):
        task = TASKS[(developer + number + place // 3) % len(TASKS)]
        opens = f"New task: please implement {task} with clear limits and a page of documentation"
        text = opens if place % 3 == 0 else f"also use the same limits for it there, variant {place}"
        answer = f"Now {task} has clear limits and documentation. {ANSWERS[(place + number) % len(ANSWERS)]}"
        turns.append({"prompt": text, "tools": ["Edit /srv/a.py"], "response_end": answer})
    arcs = [{"start": start, "end": start + 2, "intent": None, "goal_complete": None} for start in starts]
    named = {"session": f"d{developer}:{number}", "developer": f"d{developer}"}
    return session_item({**named, "turns": turns, "arcs": arcs})


SESSIONS = [session(developer, number) for developer in range(4) for number in range(4)]


def test_training_twice_writes_the_same_file_and_the_judge_reads_it() -> None:
    """No randomness, no order of hashing; names of signals only."""
    one, two = (source_of(train_boundary(SESSIONS)) for _ in range(2))
    assert one == two
    assert msgspec.json.decode(one, type=BoundaryModel).weights.keys() <= set(SIGNALS)


def test_it_learns_what_it_is_shown() -> None:
    """On its own training sessions it is right most of the time."""
    model = train_boundary(SESSIONS)
    rows = boundary_rows(SESSIONS)
    logits = [model.bias + sum(model.weights.get(SIGNALS[number], 0) for number in row) for row in rows.signals]
    right = sum((logit > 0) is opens for logit, opens in zip(logits, rows.opens, strict=True))
    assert right >= 0.8 * len(logits)


def test_no_signal_speaks_against_what_it_is_there_for() -> None:
    """What a few sessions say against it is chance, and left out."""
    assert set(SIGNALS) >= GOES_ON | EITHER
    weights = train_boundary(SESSIONS).weights
    wrong = {name for name, weight in weights.items() if (weight < 0) is not (name in GOES_ON)}
    assert wrong <= EITHER


@pytest.mark.parametrize(("true", "above"), [(0, 0), (5, 7), (10, 14)])
def test_the_cut_lets_somewhat_more_through_than_are_true(true: int, above: int) -> None:
    logits = [float(place) - 100 for place in range(19)]
    cut = rate_cut(logits, [place < true for place in range(19)])
    assert sum(logit > cut for logit in logits) == above


def test_chances_are_made_to_fit_what_came_true() -> None:
    """Of logits that are twice too sure, the half; and a shift where too few came true."""
    logits = [2.0] * 100 + [-2.0] * 100
    slope, shift = calibrated(logits, [place % 100 < (73 if place < 100 else 27) for place in range(200)])
    assert slope == pytest.approx(0.5, abs=0.01)
    assert shift == pytest.approx(0.0, abs=0.01)
    _, shift = calibrated(logits, [place % 100 < (50 if place < 100 else 12) for place in range(200)])
    assert shift == pytest.approx(-1.0, abs=0.01)
