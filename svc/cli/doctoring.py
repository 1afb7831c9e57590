"""`svc doctor`: whether what agents do arrives, and what to do where it does not."""

from concurrent.futures import ThreadPoolExecutor

import click
import msgspec
from rich.console import Console

from svc.cli.common import json_option, print_json
from svc.connect.connections import StoredConnection, all_stored
from svc.connect.doctor import Finding, Level, examine

_MARKS: dict[Level, str] = {"ok": "[green]✓[/green]", "warning": "[yellow]![/yellow]", "wrong": "[red]✗[/red]"}

EXAMINED_AT_ONCE = 8


class Examined(msgspec.Struct, frozen=True):
    """One connection and what was found."""

    connection: str
    url: str
    findings: list[Finding]


@click.command()
@json_option
def doctor(as_json: bool) -> None:
    """Check every connected agent, and say what to do.

    Looks at its settings, the server, the key, the clock, a test record there and back, and what waits. The exit code
    is 1 where something is wrong.

    Example: svc doctor
    """
    connections = all_stored()
    if not connections:
        raise click.ClickException("no agent is connected on this machine: svc connect claude-code")
    # At once: one server that never answers holds no other connection up.
    with ThreadPoolExecutor(EXAMINED_AT_ONCE) as pool:
        found = pool.map(lambda each: list(examine(each)), connections)
        examined = [_shown(each, findings, as_json) for each, findings in zip(connections, found, strict=True)]
    if as_json:
        print_json(examined)
    if any(finding.level == "wrong" for each in examined for finding in each.findings):
        raise SystemExit(1)


def _shown(connection: StoredConnection, findings: list[Finding], as_json: bool) -> Examined:
    console = Console(highlight=False, quiet=as_json)
    console.print(f"[bold]{connection.name}[/bold], {connection.url}")
    for finding in findings:
        console.print(f"  {_MARKS[finding.level]} ", end="")
        console.print(finding.text, markup=False, soft_wrap=True)
        if finding.to_do is not None:
            console.print(f"    → {finding.to_do}", markup=False, soft_wrap=True)
    return Examined(connection.name, connection.url, findings)
