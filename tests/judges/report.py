"""Measure the judges on labelled data (scoring.md, section 9).

    python -m tests.judges.report DATA_DIR [--json] [--shipped] [--locked] [--parts 10]
    python -m tests.judges.report DATA_DIR --answers FILE [--answers FILE …] [--json]
    python -m tests.judges.report DATA_DIR --ask FILE [--limit 200] [--yes]

DATA_DIR holds `labels/`. Rubric and boundary judge are trained for each of ten parts of the developers without that
part, and judge it; `--parts` measures on the first so
many of them, in that share of the time; `--shipped` uses the shipped weights, which have seen the labels. `--answers`
measures recorded answers of a text model, `--ask` gets them from the endpoint that `SVC_LLM_URL`, `SVC_LLM_MODEL` and
`SVC_LLM_KEY` name (`answers.py`). The outcome judge has rules written by hand with these sessions known, so its figures
are not cross-validated.
"""

from collections.abc import Iterable, Sequence
from pathlib import Path

import click
import msgspec
from rich.console import Console
from rich.table import Table

from aggregates.judging.boundary import SHIPPED_BOUNDARY, BoundaryModel, OpenArc, topic_shift
from aggregates.judging.prompt import forced_rubric, judge_prompt
from aggregates.reading.model import SHIPPED, RubricModel
from aggregates.reading.verdicts import BOOLEANS, INTENTS, applicable
from aggregates.turns.turn import CHANGE, COMMIT, Turn
from svc.settings import load_settings
from tests.judges.answers import Answered, Recorded, ask_all, cost_told, measured_answers, questions, recorded
from tests.judges.calibration import calibrated, calibration
from tests.judges.judge import Item, prompt_turns
from tests.judges.labels import (
    FOLDS,
    SessionItem,
    fold_of,
    labelled_items,
    labelled_sessions,
)
from tests.judges.measures import (
    BoundaryMeasures,
    DecidedMeasures,
    Pair,
    PromptMeasures,
    measure_boundaries,
    measure_decided,
    number_text,
    own_score,
    pair_of,
    score_of_expert,
    share_text,
    with_intervals,
    worst_misses,
)
from tests.judges.train import Item as TrainingItem
from tests.judges.train import items_of, trained_without, unseen
from tests.judges.train_boundary import train_boundary
from tests.judges.train_outcome import unseen_verdicts


class Report(msgspec.Struct, frozen=True):
    """Everything that is measured."""

    prompts: PromptMeasures
    misses: tuple[Pair, ...]
    boundaries: BoundaryMeasures
    decided: DecidedMeasures


def report(data_dir: Path, *, shipped: bool = False, locked: bool = False, parts: int = FOLDS) -> Report:
    pairs = prompt_pairs(data_dir, shipped=shipped, locked=locked, parts=parts)
    sessions = labelled_sessions(data_dir, locked=locked)
    return Report(
        with_intervals(pairs),
        tuple(worst_misses(pairs)),
        measure_boundaries(boundary_pairs(sessions, shipped=shipped or locked, parts=parts)),
        measure_decided(unseen_verdicts(sessions)),
    )


def prompt_pairs(data_dir: Path, *, shipped: bool = False, locked: bool = False, parts: int = FOLDS) -> list[Pair]:
    """Each labelled prompt beside the verdict of a model that has seen nothing of its developer.

    `shipped`: beside that of the shipped weights. `locked`: the lock box, which these have not seen either.
    """
    raw = labelled_items(data_dir, "prompts", locked=locked)
    if shipped or locked:
        return [_pair(item, SHIPPED) for item in raw]
    models = models_by_fold(items_of(data_dir), parts)
    folds = ((item, fold_of(item["developer"])) for item in raw)
    return [_pair(item, models[fold]) for item, fold in folds if fold < parts]


def models_by_fold(items: Sequence[TrainingItem], parts: int = FOLDS) -> list[RubricModel]:
    """For each of the first parts of the developers a model whose weights, scales and bounds know nothing of that part.

    Which sides of a boolean are said at all is settled by all parts together.
    """
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
    rubric, forced = judge_prompt(turn.prompt, earlier, model), forced_rubric(turn.prompt, earlier, model)
    applies = applicable(forced.intent) if forced.intent is not None else ()
    return pair_of(
        raw,
        rubric.status,
        forced.intent,
        {name: name in forced.forced if name in applies else None for name in BOOLEANS},
        confidence=forced.confidence,
        sure={each.name: each.value for each in rubric.booleans},
        chances={each.name: each.chance for each in forced.booleans if each.chance is not None},
    )


def boundary_pairs(
    sessions: Sequence[SessionItem], *, shipped: bool = False, parts: int = FOLDS
) -> list[tuple[frozenset[int], frozenset[int]]]:
    """Where arcs start by the experts and by a judge that has not seen the developer, each session's first left out."""
    if shipped:
        return [(expert_starts(each), judged_starts(each.turns, SHIPPED_BOUNDARY)) for each in sessions]
    pairs = []
    for fold in range(parts):
        model = train_boundary([each for each in sessions if fold_of(each.developer) != fold])
        unseen = [each for each in sessions if fold_of(each.developer) == fold]
        pairs += [(expert_starts(each), judged_starts(each.turns, model)) for each in unseen]
    return pairs


def expert_starts(session: SessionItem) -> frozenset[int]:
    """The places of the turns, from 0, that open an arc, the first arc left out."""
    return frozenset(sorted(arc.start - 1 for arc in session.arcs or ())[1:])


def judged_starts(turns: Sequence[Turn], model: BoundaryModel) -> frozenset[int]:
    """The same by the rules of `arcs.cut_arcs` with another boundary model."""
    starts: list[int] = []
    first = 0
    for place in range(1, len(turns)):
        arc, turn = turns[first:place], turns[place]
        committed = COMMIT in arc[-1].work.marks and any(CHANGE in each.work.marks for each in arc)
        said = turn.opening in ("clear", "end")
        if said or topic_shift(OpenArc(arc), turn, model, after_commit=committed).shift:
            starts.append(place)
            first = place
    return frozenset(starts)


# What is printed


def print_report(measured: Report, console: Console, *, shipped: bool) -> None:
    how = "weights of this version, which have seen these labels" if shipped else "by developers whom it has not seen"
    _print_prompts(measured.prompts, console, f"Rubric judge, {how}")
    console.print(_misses_table(measured.misses))
    console.print("Boundary and outcome judges", style="bold")
    console.print(_arcs_table(measured.boundaries, measured.decided))


def _print_prompts(measured: PromptMeasures, console: Console, title: str) -> None:
    console.print(title, style="bold")
    for table in (_summary_table, _sure_table, _confusion_table):
        console.print(table(measured))


def _table(columns: str, rows: Iterable[Sequence[object]]) -> Table:
    table = Table(*columns.split(", "))
    for row in rows:
        table.add_row(*map(str, row))
    return table


def _summary_table(measures: PromptMeasures) -> Table:
    def figure(name: str, value: str) -> str:
        low, high = measures.intervals[name]
        return f"{value} ({low:.2f}-{high:.2f} by developer)"

    intents = figure("intent_accuracy", share_text(measures.intent_accuracy))
    rows: list[Sequence[object]] = [
        ("prompts classified by the experts", measures.prompts),
        ("status accuracy (all prompts)", share_text(measures.status_accuracy)),
        ("intent accuracy", intents, ".66", ".72", ".90-.96"),
        ("mean kappa", figure("mean_kappa", f"{measures.mean_kappa:.3f}"), ".50", ".60", ".78-.91"),
        ("mean error of a prompt's own score", figure("score_error", f"{measures.score_error:.1f}"), 14, 11, "3.4-7.6"),
        ("APG error", figure("apg_error", f"{measures.apg_error:.1f}"), 4, 3),
        ("intent accuracy, surest first", _curve(measures.intents)),
    ]
    return _table("measure, value, must, reach for, experts", rows)


def _curve(points: Sequence[tuple[float, float]]) -> str:
    return ", ".join(f"{share:.0%} {right:.2f}" for share, right in points)


def _sure_table(measures: PromptMeasures) -> Table:
    columns = "boolean, told, sure true and right, sure false and right, surest first, kappa where both apply"
    kappas = {str(name): value for name, value in measures.kappa.items()} | {"all": measures.mean_kappa}
    rows = []
    for name, each in measures.sure.items():
        shares = map(share_text, (each.told, each.true, each.false))
        rows.append((name, *shares, _curve(each.curve), number_text(kappas[name])))
    return _table(columns, rows)


def _confusion_table(measures: PromptMeasures) -> Table:
    said = [*INTENTS, "unclassified", "skipped"]
    counts = measures.confusion
    rows = ((intent, *(counts[intent].get(name, "") for name in said)) for intent in INTENTS)
    return _table(", ".join(["experts \\ judge", *said]), rows)


def _misses_table(misses: Sequence[Pair]) -> Table:
    rows = []
    for pair in misses:
        apart = [name for name in BOOLEANS if pair.expert[name] is not None and pair.expert[name] != pair.judged[name]]
        judged = own_score(pair.judged_intent, pair.judged) if pair.judged_intent else 0.0
        scores = (f"{score_of_expert(pair):.0f}", f"{judged:.0f}")
        rows.append((pair.item_id, pair.expert_intent, pair.judged_intent, *scores, ", ".join(apart)))
    return _table("worst misses, experts, judge, score, judged score, booleans apart", rows)


def _arcs_table(found: BoundaryMeasures, decided: DecidedMeasures | None = None) -> Table:
    rows: list[Sequence[object]] = [
        ("boundary F1", f"{found.f1:.3f}", ".42", ".55"),
        ("boundary precision", f"{found.precision:.3f} ({found.right} of {found.judged})"),
        ("boundary recall", f"{found.recall:.3f} ({found.right} of {found.expert})"),
    ]
    if decided is not None:
        rows += [
            ("goal_complete, agreement where decided", share_text(decided.agreement), ".93"),
            ("goal_complete, decided of what experts decide", share_text(decided.coverage), ".65"),
            ("called not complete, right", share_text(decided.not_complete), ".80"),
            ("decided where the experts could not say", share_text(decided.untold)),
        ]
    return _table("measure, value, must, reach for", rows)


def _ask(data_dir: Path, file: Path, limit: int, *, yes: bool) -> None:
    """Goes on where an earlier run stopped."""
    settings = load_settings({})
    if settings.llm_model is None:
        raise click.UsageError("no text model is configured: set SVC_LLM_URL and SVC_LLM_MODEL")
    wanted = questions(data_dir, _recorded((file,) if file.exists() else ()), limit)
    click.echo(cost_told(wanted, settings.llm_model), err=True)
    if wanted and not yes:
        click.confirm("Ask?", abort=True, err=True)
    click.echo(f"{ask_all(settings, wanted, file)} of {len(wanted)} answers were believed.", err=True)


def _recorded(files: Sequence[Path]) -> Recorded:
    try:
        return recorded(files)
    except ValueError as error:
        raise click.UsageError(str(error)) from error


def _print_answers(measured: Answered, *, as_json: bool) -> None:
    if as_json:
        click.echo(msgspec.json.encode(measured).decode())
        return
    console = Console(width=160)
    told = f"{measured.answered_prompts} prompts and {measured.gaps} gaps; {measured.unknown} are of nothing here"
    _print_prompts(measured.prompts, console, f"Recorded answers: {told}")
    console.print(_arcs_table(measured.boundaries))


_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)
_NEW_FILE = click.Path(dir_okay=False, path_type=Path)


@click.command()
@click.argument("data_dir", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of tables.")
@click.option("--locked", is_flag=True, help="Judge the lock box with the weights of this version: once, at the end.")
@click.option("--shipped", is_flag=True, help="Judge with the weights of this version instead of cross-validating.")
@click.option(
    "--parts",
    type=click.IntRange(2, FOLDS),
    default=FOLDS,
    help="Train and measure on so many parts of the developers.",
)
@click.option("--answers", "files", multiple=True, type=_FILE, help="Measure these recorded answers of a text model.")
@click.option("--ask", "asked", type=_NEW_FILE, help="Ask the configured text model; write its answers to this file.")
@click.option("--limit", default=200, show_default=True, help="Ask about so many prompts, and so many gaps.")
@click.option("--yes", is_flag=True, help="Do not wait for a word on what it may cost.")
def main(
    data_dir: Path,
    as_json: bool,
    locked: bool,
    shipped: bool,
    parts: int,
    files: tuple[Path, ...],
    asked: Path | None,
    limit: int,
    yes: bool,
) -> None:
    """Measure the judges on DATA_DIR/labels: the embedded ones, or a text model."""
    if asked is not None:
        _ask(data_dir, asked, limit, yes=yes)
        files = (*files, asked)
    if files:
        _print_answers(measured_answers(data_dir, _recorded(files), locked=locked), as_json=as_json)
        return
    measured = report(data_dir, shipped=shipped, locked=locked, parts=parts)
    if as_json:
        click.echo(msgspec.json.encode(measured).decode())
    else:
        print_report(measured, Console(width=160), shipped=shipped or locked)


if __name__ == "__main__":
    main()
