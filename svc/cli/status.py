"""`svc status`: a picture of the running server, or of the folder where none runs."""

from datetime import timedelta

import click
import msgspec
from rich.markup import escape

from svc.access import reach
from svc.cli.common import json_option, print_json, run, settings_from, var_option
from svc.cli.shown import counted, show_fields, show_table
from svc.settings import Settings
from svc_http.server_shown import DeveloperStatus, Status

_STATES = {"waiting": "waiting for a set-up", "key_configured": "set up, no prompt yet", "first_prompt": "active"}
_UNITS = ("B", "KiB", "MiB", "GiB", "TiB")
_UNIT = 1024
KEYS_NAMED = 5
"""So many of those whose key is missing stand on one line."""


@click.command()
@var_option
@json_option
def status(var: str | None, as_json: bool) -> None:
    """Show how the server is: log, scores, people, disk.

    Where no server runs, the folder itself is looked at.

    Example: svc status --var var
    """
    found = run(_status, settings_from(var=var))
    if as_json:
        print_json(found)
    else:
        _show(found)


async def _status(settings: Settings) -> Status:
    async with reach(settings) as access:
        answer = await access.admin("GET", "/v1/admin/control/status")
        return msgspec.json.decode(answer.content, type=Status)


def _show(found: Status) -> None:
    show_fields(_lines(found))
    show_table(("developer", "id", "activation", "member"), map(_person, found.developers))
    if found.log.events:
        show_table(("events", "how many"), ((kind, f"{count:,}") for kind, count in found.log.events.items()))


def _lines(found: Status) -> list[tuple[str, str]]:
    """What there is to say, one line each."""
    log = "" if found.log.writable else "[bold red], cannot be written[/bold red]"
    waiting = found.waiting
    commands, people = counted(waiting.commands, "command"), counted(waiting.developers, "developer")
    busy = f"{commands}, {_size(waiting.bytes)} for {people}" if waiting.commands or waiting.bytes else "nothing"
    return [
        ("svc", f"{found.version}, {_state(found)}"),
        *((name, url) for name, url in (("intake", found.intake), ("API", found.api)) if url is not None),
        ("log", f"{found.log.head:,} positions{log}"),
        *_keys(found),
        ("scores", _views(found)),
        ("on the way", busy),
        ("prices", _catalog(found)),
        ("archive", _archive(found)),
        ("last replay", _replay(found)),
        ("disk", ", ".join(f"{name} {_size(size)}" for name, size in found.disk_bytes.items())),
    ]


def _state(found: Status) -> str:
    if found.uptime_seconds is None:
        return "[yellow]not running[/yellow]; this is the folder"
    since = timedelta(seconds=found.uptime_seconds)
    return f"[green]serving[/green] for {since} as process {found.process_id}"


def _keys(found: Status) -> list[tuple[str, str]]:
    """Only where some are missing."""
    if not found.missing_keys:
        return []
    names = {each.developer_id: each.display_name for each in found.developers}
    who = ", ".join(escape(f"{names.get(each, '')} ({each})".lstrip()) for each in found.missing_keys[:KEYS_NAMED])
    more = "" if len(found.missing_keys) <= KEYS_NAMED else f" and {len(found.missing_keys) - KEYS_NAMED} more"
    return [("keys", f"[bold red]missing: {who}{more}[/bold red]; `svc verify` says what to do")]


def _views(found: Status) -> str:
    views = found.views
    lag = "level with the log" if not views.lag_events else f"[yellow]{views.lag_events:,} events behind[/yellow]"
    building = "" if views.level or found.state == "stopped" else ", [yellow]being built: reads answer 503[/yellow]"
    failed = f", [red]{views.failed_events} events passed over[/red]" if views.failed_events else ""
    return f"at {views.position:,}, {lag}{building}{failed}; rules {views.rules_version}, {views.file}"


def _catalog(found: Status) -> str:
    prices = found.catalog
    if prices is None:
        return "[red]none; the server is not ready[/red]"
    stale = ", [yellow]the last refresh failed[/yellow]" if prices.stale else ""
    return f"revision {prices.revision} of {prices.published_at[:10]}, {prices.models:,} models{stale}"


def _archive(found: Status) -> str:
    archive = found.archive
    if archive is None:
        return "nothing yet"
    return f"{archive.rows:,} requests in {archive.files} files, {_size(archive.bytes)}, up to {archive.position:,}"


def _replay(found: Status) -> str:
    replay = found.replay
    match replay.state:
        case "none":
            return "none since the start"
        case "running":
            return f"running, {replay.done:,} of {replay.of:,} events"
        case state:
            return escape(f"{state}{'' if replay.message is None else ': ' + replay.message}")


def _person(each: DeveloperStatus) -> tuple[str, ...]:
    return each.display_name, each.developer_id, _STATES[each.activation], "yes" if each.active else "no"


def _size(size: float) -> str:
    for unit in _UNITS[:-1]:
        if size < _UNIT:
            return f"{size:.0f} {unit}" if unit == "B" else f"{size:.1f} {unit}"
        size /= _UNIT
    return f"{size:.1f} {_UNITS[-1]}"
