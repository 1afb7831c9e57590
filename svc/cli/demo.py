"""`svc demo` and `svc grade`: what can be tried without a server, on sample sessions or a prompt of one's own.

The sample is about a month of two imaginary developers. Ana says what she wants, where, and how to check it; Ben
types less and comes back more often.
"""

import sys
import tempfile
import time
from datetime import UTC, datetime, timedelta
from functools import partial
from importlib import resources
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import click
import msgspec

from aggregates.event import Refused, Scope
from aggregates.people.acts import CreateDeveloper, StartMembership
from aggregates.scores.prompt_grade import grade_text
from svc.cli import Command, main
from svc.cli.common import Shown, json_option, run, settings_from, show_text, tell
from svc.log.folder import held
from svc.process import FIRST_LINK_SECONDS, FRAME_BYTES_MAX
from svc.settings import Settings
from svc_http.records import USUAL

if TYPE_CHECKING:
    from svc.service import RunningService

SHOWN = (("score",), ("habits",), ("cost",), ("goals", "--limit", "8"))  # of the days that the pages begin with
DEVELOPERS = {"Ana": "ana", "Ben": "ben"}  # display name → the name of their file in `sessions/`
_MONDAY = datetime(2026, 8, 17, tzinfo=UTC)  # of the last week of the sample
_SETTLED = timedelta(minutes=45)  # so long before now the last session ends at the latest: by then it is judged
_BETWEEN = timedelta(minutes=12)

Line = dict[str, Any]  # a line of a transcript


@click.command(cls=Command, example="svc demo --var var/demo --keep")
@click.option("--var", "var", metavar="DIR", help="Folder for the demo's data. [default: a temporary one]")
@click.option("--keep/--no-keep", default=None, help="Go on serving the pages until Ctrl-C. [default: on a terminal]")
def demo(var: str | None, keep: bool | None) -> None:
    """Imports their bundled sample sessions into a folder of its own, and shows what its pages show."""
    with tempfile.TemporaryDirectory(prefix="svc-demo-") as temporary:
        settings = settings_from(var=var or temporary, intake="127.0.0.1:0", api="127.0.0.1:0")
        run(_demo, settings, sys.stdout.isatty() if keep is None else keep)


async def _demo(settings: Settings, keep: bool) -> None:
    import trio

    from svc.service import open_service
    from svc.serving import first_link, listening, stop_signal

    console = Shown(highlight=False, soft_wrap=True)
    with held(settings.var_path):
        async with open_service(settings, reporting=True) as service, listening(settings, service) as addresses:
            people, api = await _people(service, settings.var_path, addresses.intake_url), addresses.api_url
            for name, (_, key) in people.items():
                console.rule(f"[bold]{name}[/bold], the last {USUAL} days")
                for command in SHOWN:
                    asked = [*command, "--api", api, "--key", key]
                    await trio.to_thread.run_sync(partial(main.main, asked, standalone_mode=False))
            if not keep:
                console.print("\n`svc demo --keep` goes on serving, and shows links to these pages.")
                return
            minutes = FIRST_LINK_SECONDS // 60
            console.print(f"\nThe same on pages, until Ctrl-C; each link works once, for {minutes} minutes:")
            for name, (scope, _) in people.items():
                console.print(f"{name}  {await first_link(service, api, scope)}", markup=False)
            await stop_signal()


async def _people(service: "RunningService", var: Path, url: str) -> dict[str, tuple[Scope, str]]:
    """Both with their work; name → whose it is, and a key."""
    import trio

    from svc.connect.connections import Server
    from svc.importing.claude_code import CLAUDE_CODE
    from svc.importing.importer import Destination, import_into, intake
    from svc.serving import initialize
    from svc_http.routes.people import new_key

    made = await initialize(service, var, "Demo team", "Ana")
    if made is None:
        raise FileNotFoundError(f"{var} is set up already; the demo needs an empty folder")
    ben = Scope(made.organization_id, uuid4())
    key, issue = new_key(ben, name="demo")
    people = {"Ana": (Scope(made.organization_id, made.developer_id), made.key), "Ben": (ben, key)}
    for command in (
        CreateDeveloper(developer_id=ben.developer_id, display_name="Ben"),
        StartMembership(organization_id=ben.organization_id, developer_id=ben.developer_id),
        issue,
    ):
        reply = await service.administer(command)
        assert not isinstance(reply, Refused), reply
    now_us = time.time_ns() // 1_000
    with tempfile.TemporaryDirectory(prefix="svc-demo-") as folder:
        written = write_transcripts(Path(folder), now_us=now_us)
        for name, (_, whose) in people.items():
            destination = Destination(url, intake(Server(url, whose)), source=CLAUDE_CODE.source)
            found = CLAUDE_CODE.found([written[name]])
            await trio.to_thread.run_sync(partial(import_into, destination, found, lambda *_: None, now_us=now_us))
    return people


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
    tell(grade_text(text), as_json, lambda graded: show_text("grade", graded=graded))


def write_transcripts(folder: Path, *, now_us: int) -> dict[str, Path]:
    """Lay the sample down, dated anew so that its last week is the present one; developer → their folder."""
    now = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=now_us)
    weeks = timedelta(weeks=(now - _MONDAY) // timedelta(weeks=1))
    for name in DEVELOPERS.values():
        latest = now - _SETTLED
        raw = resources.files("svc.cli").joinpath("sample", f"{name}.jsonl").read_bytes()
        lines = map(msgspec.json.decode, raw.splitlines())  # a sub-agent's stand behind its session's
        sessions = [list(session) for _, session in groupby(lines, lambda line: line["sessionId"])]
        for session in reversed(sessions):
            shift = min(weeks, latest - max(map(_time, session)))
            latest = _time(session[0]) + shift - _BETWEEN
            _write(folder / name, session, shift)
    return {developer: folder / name for developer, name in DEVELOPERS.items()}


def _write(folder: Path, session: list[Line], shift: timedelta) -> None:
    """A sub-agent has a file of its own beside the session's."""
    folder.mkdir(parents=True, exist_ok=True)
    for agent_id, lines in groupby(session, lambda line: line.get("agentId")):
        name = f"agent-{agent_id}" if agent_id else session[0]["sessionId"]
        dated = [{**line, "timestamp": (_time(line) + shift).isoformat(timespec="milliseconds")} for line in lines]
        (folder / f"{name}.jsonl").write_bytes(b"".join(msgspec.json.encode(line) + b"\n" for line in dated))


def _time(line: Line) -> datetime:
    return datetime.fromisoformat(line["timestamp"])
