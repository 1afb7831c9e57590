"""`svc import`: read what an agent has already written on this machine."""

from pathlib import Path

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn
from rich.progress import Progress as Bar

from aggregates.event import Scope
from svc.actors.actors import SystemClock
from svc.cli.access import Access, reach
from svc.cli.common import interruptible, json_option, print_json, run, settings_from, show_fields, var_option
from svc.cli.common import progress as progress_bar
from svc.cli.people import organization_option
from svc.importing.exchange import Format
from svc.importing.importer import FORMATS, ImportReport, Progress, import_transcripts
from svc.log.sqlite import KEYS_FOLDER
from svc.log.vault import FileKeys, Vault
from svc.settings import Settings

_WHAT = {
    "claude-code": ("Claude Code transcripts", "~/.claude/projects", "$CLAUDE_CONFIG_DIR/projects"),
    "codex": ("Codex session files (rollouts)", "~/.codex/sessions", "$CODEX_HOME/sessions"),
    "gemini": ("Gemini CLI session files", "~/.gemini/tmp", None),
}
"""What is read of which agent, and where it lies."""
_NEXT = (
    "name another folder or a file, as in `svc import {agent} PATH`, or use the agent first. "
    "`svc connect {agent}` has it send what it does from now on"
)
_INTERRUPTED = "what was read so far is kept; run it again for the rest, nothing counts twice"


@click.group("import")
def import_() -> None:
    """Import sessions that agents have kept on this machine."""


def _add_command(agent: str) -> None:
    what, folder, other = _WHAT[agent]
    lies = folder if other is None else f"{folder}, or {other}"

    @import_.command(
        agent,
        help=f"""Import {what}: a folder, or one file. Running it again adds nothing.

        Without PATH the agent's own folder is read: {lies}

        Example: svc import {agent} {folder} --developer Kim
        """,
    )
    @click.argument("path", type=click.Path(path_type=Path), required=False)
    @click.option(
        "--developer",
        metavar="WHO",
        help="Whose sessions, by name or id; may be left out while there is only one member.",
    )
    @organization_option
    @var_option
    @json_option
    def command(
        path: Path | None, developer: str | None, organization: str | None, var: str | None, as_json: bool
    ) -> None:
        _run(agent, path, (developer, organization), var, as_json)


for _agent in _WHAT:
    _add_command(_agent)


Whose = tuple[str | None, str | None]
"""A developer and an organization, as they were named or not."""


def _run(agent: str, path: Path | None, whose: Whose, var: str | None, as_json: bool) -> None:
    transcripts = FORMATS[agent]
    found = (path or Path(transcripts.folder())).expanduser()
    if not found.exists():
        raise click.ClickException(f"there is no {found}; {_NEXT.format(agent=agent)}")
    with (
        interruptible(_INTERRUPTED),
        progress_bar(
            TextColumn("importing"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("files, {task.fields[lines]} lines, {task.fields[prompts]} prompts"),
        ) as bar,
    ):
        report = run(_import, settings_from(var=var), transcripts, found, whose, bar)
    if as_json:
        print_json(report)
    elif report.files:
        show_report(report)
    else:
        click.echo(f"no sessions of {agent} lie under {found}; {_NEXT.format(agent=agent)}", err=True)


async def _import(settings: Settings, transcripts: Format, path: Path, whose: Whose, bar: Bar) -> ImportReport:
    task = bar.add_task("", total=None, lines=0, prompts=0)

    def progress(now: Progress) -> None:
        bar.update(task, completed=now.files_done, total=now.files_total, lines=now.lines, prompts=now.prompts)

    async with reach(settings) as access:
        scope = await _scope(access, whose)
        vault = Vault(FileKeys(settings.var_path / KEYS_FOLDER))
        digester = vault.digester(scope.developer_id)
        now_us = SystemClock().now_us()
        return await import_transcripts(
            transcripts, path, access.send, progress, scope=scope, digester=digester, now_us=now_us
        )


async def _scope(access: Access, whose: Whose) -> Scope:
    """That of the member who was named, or of the only one. Raises `NotFound`."""
    member = await access.member(*whose)
    return Scope(member.organization_id, member.developer_id)


def show_report(report: ImportReport) -> None:
    """The report as a person would like to read it."""
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
    show_fields((name, f"{number:,}") for name, number in rows.items())
    console = Console(soft_wrap=True, highlight=False)
    for torn in report.torn:
        console.print(f"torn: {torn.file}, line {torn.line}: {torn.reason}", style="yellow", markup=False)
    for refusal in report.refused:
        console.print(f"refused: {refusal.file}, {refusal.what}: {refusal.message}", style="yellow", markup=False)
