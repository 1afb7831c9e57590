"""`svc grade` and `svc judge`: the embedded judges, offline."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.table import Table

from aggregates.grading import Graded, grade_text
from svc.cli.common import json_option, print_json
from svc.labelled import judge_prompt_item, judge_session_item, read_lines
from svc.limits import FRAME_BYTES_MAX


@click.command()
@click.argument("file", type=click.File("rb"), default="-")
@json_option
def grade(file: Any, as_json: bool) -> None:
    """Grade one prompt: the habits it shows or misses, and why.

    Needs no server and no network. Reads FILE, or standard input.

    Example: echo "fix the login" | svc grade
    """
    content = file.read(FRAME_BYTES_MAX + 1)
    if len(content) > FRAME_BYTES_MAX:
        raise click.ClickException(f"the prompt is larger than {FRAME_BYTES_MAX} bytes; grade a shorter one")
    text = content.decode("utf-8", "replace")
    if not text.strip():
        raise click.ClickException("there is no prompt to grade: give a FILE, or text on standard input")
    graded = grade_text(text)
    if as_json:
        print_json(graded)
    else:
        _show(graded)


def _show(graded: Graded) -> None:
    console = Console()
    if graded.score is None:
        console.print(f"not graded: {graded.status}", style="yellow")
        return
    console.print(
        f"[bold]{graded.letter}[/bold]  {graded.score:.0f} of 100, read as {(graded.intent or '').replace('_', ' ')}"
    )
    table = Table("habit", "", "why")
    for habit in graded.habits:
        if habit.applies:
            quoted = f"\n“{habit.quoted}”" if habit.quoted else ""
            advice = "" if habit.earned else f"\n{habit.how_to_earn}"
            table.add_row(habit.boolean.replace("_", " "), "✓" if habit.earned else "✗", habit.why + quoted + advice)
    console.print(table, markup=False)


@click.group()
def judge() -> None:
    """Judge files of items, and answer in the shape of labels."""


@judge.command()
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--json", "as_json", is_flag=True, default=True, help="One JSON line an item; the only form there is.")
def prompts(file: Path, as_json: bool) -> None:
    """Judge prompts: items with id, earlier_turns and prompt.

    Example: svc judge prompts prompts.jsonl --json
    """
    _judge(file, judge_prompt_item)


@judge.command()
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--json", "as_json", is_flag=True, default=True, help="One JSON line an item; the only form there is.")
def sessions(file: Path, as_json: bool) -> None:
    """Judge sessions: items with session and turns.

    Answers their goal arcs, one JSON object a line.

    Example: svc judge sessions sessions.jsonl --json
    """
    _judge(file, judge_session_item)


def _judge(file: Path, judged: Callable[[dict[str, Any]], dict[str, Any]]) -> None:
    try:
        for item in read_lines(file):
            print_json(judged(item))
    except (ValueError, KeyError, TypeError) as error:
        sys.stdout.flush()
        said = str(error)
        raise click.ClickException(said if said.startswith(f"{file}, ") else f"{file}: {said}") from error
