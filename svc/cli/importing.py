"""`svc import`: read what an agent has already written on this machine."""

from pathlib import Path
from uuid import UUID

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn
from rich.progress import Progress as Bar
from rich.table import Table

from aggregates.scope import Scope
from svc.access import Access, NotReached, reach
from svc.cli.common import json_option, print_json, run, settings_from, var_option
from svc.clock import SystemClock
from svc.event_log import KEYS_FOLDER
from svc.importer import FORMATS, ImportReport, Progress, import_transcripts
from svc.settings import Settings
from svc.transcripts.files import Format
from svc.vault import FileKeys, Vault

_path = click.argument("path", type=click.Path(path_type=Path), required=False)
_developer = click.option(
    "--developer", type=click.UUID, help="Whose sessions; may be left out while there is only one."
)


@click.group("import")
def import_() -> None:
    """Import sessions that agents have kept on this machine."""


@import_.command("claude-code")
@_path
@_developer
@var_option
@json_option
def claude_code(path: Path | None, developer: UUID | None, var: str | None, as_json: bool) -> None:
    """Import Claude Code transcripts: a folder, or one file. Running it again adds nothing.

    \b
    Without PATH the agent's own folder is read: ~/.claude/projects
    Example: svc import claude-code ~/.claude/projects --developer 7d0c1c0e-6c0b-4b53-9a55-0f6f7b1f2a11
    """
    _run("claude-code", path, developer, var, as_json)


@import_.command("codex")
@_path
@_developer
@var_option
@json_option
def codex(path: Path | None, developer: UUID | None, var: str | None, as_json: bool) -> None:
    """Import Codex session files (rollouts): a folder, or one file. Running it again adds nothing.

    \b
    Without PATH the agent's own folder is read: ~/.codex/sessions, or $CODEX_HOME/sessions
    Example: svc import codex ~/.codex/sessions --developer 7d0c1c0e-6c0b-4b53-9a55-0f6f7b1f2a11
    """
    _run("codex", path, developer, var, as_json)


@import_.command("gemini")
@_path
@_developer
@var_option
@json_option
def gemini(path: Path | None, developer: UUID | None, var: str | None, as_json: bool) -> None:
    """Import Gemini CLI session files: a folder, or one file. Running it again adds nothing.

    \b
    Without PATH the agent's own folder is read: ~/.gemini/tmp
    Example: svc import gemini ~/.gemini/tmp --developer 7d0c1c0e-6c0b-4b53-9a55-0f6f7b1f2a11
    """
    _run("gemini", path, developer, var, as_json)


def _run(agent: str, path: Path | None, developer: UUID | None, var: str | None, as_json: bool) -> None:
    transcripts = FORMATS[agent]
    found = (path or Path(transcripts.folder())).expanduser()
    bar = Bar(
        TextColumn("importing"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("files, {task.fields[lines]} lines, {task.fields[prompts]} prompts"),
        console=Console(stderr=True),
        transient=True,
    )
    with bar:
        report = run(_import, settings_from(var=var), transcripts, found, developer, bar)
    if as_json:
        print_json(report)
    else:
        show_report(report)


async def _import(
    settings: Settings, transcripts: Format, path: Path, developer: UUID | None, bar: Bar
) -> ImportReport:
    task = bar.add_task("", total=None, lines=0, prompts=0)

    def progress(now: Progress) -> None:
        bar.update(task, completed=now.files_done, total=now.files_total, lines=now.lines, prompts=now.prompts)

    async with reach(settings) as access:
        scope = await scope_of(access, developer)
        vault = Vault(FileKeys(settings.var_path / KEYS_FOLDER))
        digester = vault.digester(scope.developer_id)
        now_us = SystemClock().now_us()
        return await import_transcripts(
            transcripts, path, access.send, progress, scope=scope, digester=digester, now_us=now_us
        )


async def scope_of(access: Access, developer: UUID | None) -> Scope:
    """The developer that was named, or the only one. Raises `NotReached`."""
    members = await access.developers()
    if developer is None and len(members) == 1:
        developer = next(iter(members))
    if developer not in members:
        known = ", ".join(sorted(map(str, members)))
        raise NotReached(f"say whose sessions these are with --developer ID; the members are {known}")
    return Scope(members[developer], developer)


def show_report(report: ImportReport) -> None:
    """The report as a person would like to read it."""
    console = Console()
    table = Table(show_header=False, box=None)
    rows = {
        "files": report.files,
        "lines": report.lines,
        "prompts": report.prompts,
        "responses": report.responses,
        "requests": report.requests,
        "tool calls": report.tool_calls,
        "input tokens": report.tokens.input_tokens,
        "output tokens": report.tokens.output_tokens,
        "cache read tokens": report.tokens.cache_read_tokens,
        "cache write tokens": report.tokens.cache_write_tokens,
        "new": report.created,
        "known already": report.known,
        "still being written": report.unfinished,
        "repeated in another session": report.repeated,
        "torn lines": len(report.torn),
        "refused": len(report.refused),
    }
    for name, number in rows.items():
        table.add_row(name, f"{number:,}")
    console.print(table)
    for torn in report.torn:
        console.print(f"torn: {torn.file}, line {torn.line}: {torn.reason}", style="yellow", markup=False)
    for refusal in report.refused:
        console.print(f"refused: {refusal.file}, {refusal.what}: {refusal.message}", style="yellow", markup=False)
