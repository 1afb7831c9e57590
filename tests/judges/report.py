"""Measure the judges on labelled data (scoring.md, section 9): `python -m tests.judges.report DATA_DIR [--json]`.

Rubric and boundary judge are trained for each of ten parts of the developers without that part, and judge it; `--parts`
measures on the first so many of them; `--locked` judges the lock box by the shipped weights. The outcome judge has
rules written by hand with these sessions known."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import click
import msgspec
from rich.console import Console
from rich.table import Table

from aggregates.judging.boundary import SHIPPED_BOUNDARY, BoundaryModel, OpenArc, topic_shift
from aggregates.judging.prompt import judge_prompt
from aggregates.reading.model import SHIPPED, RubricModel
from aggregates.reading.verdicts import BOOLEANS, BoundaryVerdict, applicable
from aggregates.turns.turn import CHANGE, COMMIT, Turn
from tests.judges.calibration import calibrated, calibration
from tests.judges.judge import Item, before, prompt_turns
from tests.judges.labels import FOLDS, SessionItem, fold_of, labelled_items, labelled_sessions
from tests.judges.measures import (
    BoundaryMeasures,
    DecidedMeasures,
    EstimateMeasures,
    Judged,
    Pair,
    PromptMeasures,
    Share,
    measure_decided,
    measure_estimates,
    measure_prompts,
    pair_of,
    reliability,
    share_text,
    worst_misses,
)
from tests.judges.train import Item as TrainingItem, items_of, trained_without, unseen
from tests.judges.train_arcs import train_boundary, unseen_verdicts


class Report(msgspec.Struct, frozen=True):
    """Everything that is measured."""

    prompts: PromptMeasures
    misses: tuple[Pair, ...]
    estimates: EstimateMeasures
    boundaries: BoundaryMeasures
    decided: DecidedMeasures
    lock_box: str = "used up: judged once, on 25 November 2026; it tells nothing new of strangers"


def report(data_dir: Path, *, locked: bool = False, parts: int = FOLDS) -> Report:
    pairs = prompt_pairs(data_dir, locked=locked, parts=parts)
    sessions = labelled_sessions(data_dir, locked=locked)
    return Report(
        measure_prompts(pairs),
        tuple(worst_misses(pairs)),
        measure_estimates(pairs),
        measure_boundaries(sessions, shipped=locked, parts=parts),
        measure_decided(unseen_verdicts(sessions)),
    )


def prompt_pairs(data_dir: Path, *, locked: bool = False, parts: int = FOLDS) -> list[Pair]:
    """Each labelled prompt beside the verdict of a model that has seen nothing of its developer; in the lock box those
    are the shipped weights."""
    raw = labelled_items(data_dir, "prompts", locked=locked)
    if locked:
        return [_pair(item, SHIPPED) for item in raw]
    models = models_by_fold(items_of(data_dir), parts)
    folds = ((item, fold_of(item["developer"])) for item in raw)
    return [_pair(item, models[fold]) for item, fold in folds if fold < parts]


def models_by_fold(items: Sequence[TrainingItem], parts: int = FOLDS) -> list[RubricModel]:
    """For each of the first parts of the developers a model whose weights, scales and bounds know nothing of that part.
    Which sides of a boolean are said at all is settled by all parts together."""
    weights = [trained_without(items, fold) for fold in range(parts)]
    weighed = [unseen(items, fold, weights[fold]) for fold in range(parts)]
    whole = calibration([each for fold in weighed for each in fold])
    models = []
    for fold in range(parts):
        found = calibration([each for other in range(parts) if other != fold for each in weighed[other]], whole)
        models.append(RubricModel(calibrated(weights[fold], found), found.bounds))
    return models


def _pair(raw: Item, model: RubricModel) -> Pair:
    *earlier, turn = prompt_turns(raw, model)
    rubric, forced = (judge_prompt(turn.prompt, before(earlier), model, force=force) for force in (False, True))
    applies = applicable(forced.intent) if forced.intent is not None else ()
    return pair_of(
        raw,
        rubric.status,
        forced.intent,
        {name: name in forced.forced if name in applies else None for name in BOOLEANS},
        confidence=forced.confidence,
        sure={each.name: each.value for each in rubric.booleans},
        told=rubric.chances,
    )


def measure_boundaries(sessions: Sequence[SessionItem], *, shipped: bool, parts: int) -> BoundaryMeasures:
    """Where arcs start by the experts and by a judge that has not seen the developer, each session's first left out."""
    right = judged = expert = 0
    chances: list[Judged] = []
    for fold in range(FOLDS if shipped else parts):
        others = [each for each in sessions if fold_of(each.developer) != fold]
        model = SHIPPED_BOUNDARY if shipped else train_boundary(others)
        for each in sessions:
            if fold_of(each.developer) == fold:
                gaps, starts = judged_gaps(each.turns, model), {arc.start - 1 for arc in each.arcs or ()}
                said = {place for place, verdict in gaps.items() if verdict is None or verdict.shift}
                chances += [(of.chance, place in starts) for place, of in gaps.items() if of is not None]
                starts -= {min(starts, default=0)}
                right, judged, expert = right + len(starts & said), judged + len(said), expert + len(starts)
    return BoundaryMeasures(right, judged, expert, reliability(chances))


def judged_gaps(turns: Sequence[Turn], model: BoundaryModel) -> dict[int, BoundaryVerdict | None]:
    """What is said before each turn but the first, by places from 0 and the rules of `arcs.cut_arcs`; None: cleared."""
    found: dict[int, BoundaryVerdict | None] = {}
    first = 0
    for place in range(1, len(turns)):
        arc, turn = turns[first:place], turns[place]
        committed = COMMIT in arc[-1].work.marks and any(CHANGE in each.work.marks for each in arc)
        cleared = turn.opening in ("clear", "end")
        found[place] = said = None if cleared else topic_shift(OpenArc(arc), turn, model, after_commit=committed)
        if said is None or said.shift:
            first = place
    return found


# What is printed


def figures(measured: Any, name: str = "") -> Iterator[tuple[str, str]]:
    """Every figure by its name; of a share its counts and its interval."""
    if isinstance(measured, Share):
        yield name, share_text(measured)
    elif isinstance(measured, msgspec.Struct):
        fields = {field: getattr(measured, field) for field in measured.__struct_fields__}
        derived = {
            field: getattr(measured, field) for field in ("mean_kappa", "rate_error", "f1") if hasattr(measured, field)
        }
        for field, value in (fields | derived).items():
            yield from figures(value, f"{name} {field}".strip())
    elif isinstance(measured, Mapping):
        for key, value in measured.items():
            yield from figures(value, f"{name} {key}")
    elif measured and isinstance(measured, tuple) and isinstance(measured[0], tuple | msgspec.Struct):
        for value in measured:
            yield from figures(value, name)
    else:
        values = measured if isinstance(measured, tuple) else (measured,)
        yield name, ", ".join(f"{each:.3f}" if isinstance(each, float) else str(each) for each in values)


@click.command()
@click.argument("data_dir", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of a table.")
@click.option("--locked", is_flag=True, help="Judge the lock box with the weights of this version: once, at the end.")
@click.option("--parts", type=click.IntRange(2, FOLDS), default=FOLDS, help="Measure on so many parts of developers.")
def main(data_dir: Path, as_json: bool, locked: bool, parts: int) -> None:
    """Measure the judges on DATA_DIR/labels."""
    measured = report(data_dir, locked=locked, parts=parts)
    if as_json:
        click.echo(msgspec.json.encode(measured).decode())
        return
    table = Table("figure", "value")
    for row in figures(measured):
        table.add_row(*row)
    Console(width=160).print(table)


if __name__ == "__main__":
    main()
