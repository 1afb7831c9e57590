"""Training the embedded boundary judge: labelled sessions in, `aggregates/boundary_weights.py` out.

    python -m svc.train_boundary DATA_DIR [--out FILE]

No library and no randomness, so the same labels give the same file. The file holds names of signals and whole
numbers, thousandths of a logit; nothing of the labelled texts.
"""

from collections.abc import Sequence
from pathlib import Path

import click

from aggregates.boundary import SIGNALS, BoundaryModel, boundary_signals, stays
from svc.labelled import SessionItem, labelled_sessions
from svc.train_judges import Row, fit, unseen_logits

BOUNDARY_PENALTY = 0.04


def train_boundary(sessions: Sequence[SessionItem]) -> BoundaryModel:
    """A boundary model of labelled sessions; its bias is where F1 is best on sessions not seen."""
    rows, targets, names = boundary_rows(sessions)
    unseen = unseen_logits(rows, targets, names, BOUNDARY_PENALTY)
    cut = max(sorted(set(unseen)), key=lambda each: _f1(unseen, targets, each))
    both = fit(rows, targets, 2, BOUNDARY_PENALTY)
    weights = {SIGNALS[number]: round(1000 * (w[0] - w[1])) for number, w in both.weights.items()}
    return BoundaryModel(round(1000 * (both.bias[0] - both.bias[1] - cut)) + 1, weights)


def boundary_rows(sessions: Sequence[SessionItem]) -> tuple[list[Row], list[int], list[str]]:
    """For each turn that may shift: its signals, 0 where the experts open an arc and 1 else, its session."""
    rows: list[Row] = []
    targets: list[int] = []
    names: list[str] = []
    for session in sessions:
        starts = {arc.start - 1 for arc in session.arcs or ()}
        first = 0
        for place in range(1, len(session.turns)):
            arc, turn = session.turns[first:place], session.turns[place]
            if turn.opening is None and stays(arc, turn) is None:
                rows.append(tuple(SIGNALS.index(name) for name in boundary_signals(arc, turn)))
                targets.append(0 if place in starts else 1)
                names.append(session.session)
            first = place if place in starts else first
    return rows, targets, names


def _f1(logits: Sequence[float], targets: Sequence[int], cut: float) -> float:
    judged = [target for logit, target in zip(logits, targets, strict=True) if logit >= cut]
    return 2 * judged.count(0) / (len(judged) + targets.count(0))


def source_of(model: BoundaryModel) -> str:
    """The text of the weights file."""
    lines = [
        '"""Weights of the boundary judge, thousandths of a logit; written by `python -m svc.train_boundary`."""',
        "",
        f"BOUNDARY_BIAS = {model.bias}",
        "BOUNDARY_WEIGHTS: dict[str, int] = {",
        *(f'    "{name}": {model.weights[name]},' for name in SIGNALS if name in model.weights),
        "}",
    ]
    return "\n".join(lines) + "\n"


@click.command()
@click.argument("data_dir", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option(
    "--out",
    type=click.Path(dir_okay=False, path_type=Path),
    default=None,
    help="Default: the package's own file.",
)
def main(data_dir: Path, out: Path | None) -> None:
    """Train the boundary judge on DATA_DIR/labels/sessions.jsonl and write its weights."""
    sessions = [each for each in labelled_sessions(data_dir / "labels" / "sessions.jsonl") if each.arcs is not None]
    target = out or Path(__file__).parent.parent / "aggregates" / "boundary_weights.py"
    target.write_text(source_of(train_boundary(sessions)), encoding="utf-8")
    click.echo(f"{len(sessions)} sessions -> {target}")


if __name__ == "__main__":
    main()
