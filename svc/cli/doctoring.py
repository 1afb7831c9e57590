"""`svc doctor`: whether what agents do arrives, and what to do where it does not."""

import click
import msgspec
from rich.console import Console

from svc.cli.common import json_option, print_json
from svc.connect.connections import StoredConnection, all_stored
from svc.connect.doctor import Finding, Level, examine

_MARKS: dict[Level, str] = {"ok": "[green]✓[/green]", "warning": "[yellow]![/yellow]", "wrong": "[red]✗[/red]"}


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
    examined = [_examined(each, as_json) for each in connections]
    if as_json:
        print_json(examined)
    if any(finding.level == "wrong" for each in examined for finding in each.findings):
        raise SystemExit(1)


def _examined(connection: StoredConnection, as_json: bool) -> Examined:
    console = Console(highlight=False, quiet=as_json)
    console.print(f"[bold]{connection.name}[/bold], {connection.url}")
    found: list[Finding] = []
    for finding in examine(connection):
        found.append(finding)
        console.print(f"  {_MARKS[finding.level]} ", end="")
        console.print(finding.text, markup=False, soft_wrap=True)
        if finding.to_do is not None:
            console.print(f"    → {finding.to_do}", markup=False, soft_wrap=True)
    return Examined(connection.name, connection.url, found)
