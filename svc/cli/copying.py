"""`svc log`: the log as a whole."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from svc.cli import Command
from svc.cli.common import hear_warnings, json_option, settings_from, tell, working
from svc.process import Place

if TYPE_CHECKING:
    from svc.maintenance.copying import Copied

_PLACE = "A data folder, or the address of a store: postgresql://…"


@click.group("log")
def log() -> None:
    """The log as a whole: copy it into PostgreSQL, or back."""


@log.command("copy", cls=Command, example="svc log copy --from var --to postgresql://svc@db.example/svc")
@click.option("--from", "source", required=True, metavar="PLACE", help=_PLACE)
@click.option("--to", "target", required=True, metavar="PLACE", help=_PLACE)
@click.option("--master-key-file", metavar="FILE", help="The key of the store; it is made where it is missing.")
@json_option
def copy(source: str, target: str, master_key_file: str | None, as_json: bool) -> None:
    """Copy a log into PostgreSQL, or back into a folder.

    Stop the server first. Every event keeps its id and its position, and both logs are compared at the end. The scores
    are built anew at the first start there. Broken off, it goes on when it is run again.
    """
    from svc.log.opening import make_missing_master_key
    from svc.log.sqlite import EVENTS_FILE
    from svc.log.store import Conflict
    from svc.maintenance.backup import MaintenanceError
    from svc.maintenance.copying import copy_log

    named = settings_from(master_key_file=master_key_file).place.master_key_file
    old, new = _place(source, named), _place(target, named)
    with working("copying", "what was copied so far is kept; run it again for the rest") as heard:
        hear_warnings()
        if old.store is None and not (old.var / EVENTS_FILE).exists():
            raise MaintenanceError(f"{source} holds no data; name the folder of a server, or its store")
        if new.store is not None and named is not None:
            make_missing_master_key(named, new.store)
        try:
            copied = copy_log(old, new, heard)
        except Conflict as error:
            raise MaintenanceError(f"somebody else writes to the target: {error}; stop that, and copy again") from error
    tell(copied, as_json, _told(target, copied))


def _place(text: str, master_key_file: Path | None) -> Place:
    if text.startswith(("postgresql://", "postgres://")):
        return Place(Path(), text, master_key_file)
    return Place(Path(text).expanduser())


def _told(target: str, copied: "Copied") -> str:
    shown = target.rpartition("@")[2]
    return f"{shown} holds {copied.events} events and {copied.keys} keys; sha256 {copied.sha256} of both logs"
