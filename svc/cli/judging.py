"""`svc grade`: the habits of one prompt, offline."""

from typing import Any

import click
from rich.table import Table

from aggregates.scores.grades import PromptGrade, grade_text
from svc.cli import Command
from svc.cli.common import Shown, json_option, tell
from svc.limits import FRAME_BYTES_MAX


@click.command(cls=Command, example='echo "fix the login" | svc grade')
@click.argument("file", type=click.File("rb"), default="-")
@json_option
def grade(file: Any, as_json: bool) -> None:
    """Needs no server and no network. Reads FILE, or standard input."""
    content = file.read(FRAME_BYTES_MAX + 1)
    if len(content) > FRAME_BYTES_MAX:
        raise click.ClickException(f"the prompt is larger than {FRAME_BYTES_MAX} bytes; grade a shorter one")
    text = content.decode("utf-8", "replace")
    if not text.strip():
        raise click.ClickException("there is no prompt to grade: give a FILE, or text on standard input")
    tell(grade_text(text), as_json, _show)


def _show(graded: PromptGrade) -> None:
    console = Shown()
    console.print(graded.verdict, markup=False)
    if graded.intent is None:
        return
    table = Table("habit", "", "why")
    for habit in graded.habits:
        if habit.applies:
            quoted = f"\n“{habit.quoted}”" if habit.quoted else ""
            missed = not habit.earned and not habit.unsure
            advice = f"\nwrite: {habit.how_to_earn}" if missed else ""
            mark = "?" if habit.unsure else "✗" if missed else "✓"
            table.add_row(habit.boolean.replace("_", " "), mark, habit.why + quoted + advice)
    console.print(table, markup=False)
