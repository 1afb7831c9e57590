"""What this program would do with a folder that another version wrote; the folder is looked at, and not changed."""

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Literal

import msgspec

from projections.schema import SCHEMA_VERSION
from svc import __version__
from svc.archive.folder import MADE_OF, MANIFEST
from svc.log.sqlite import EVENTS_FILE, FORM
from svc.maintenance.backup import MaintenanceError
from svc.views.views import NAME, POINTER, RULES_VERSION

REPLAY_EVENTS_PER_SECOND = 2_000
"""Rather too few: docs/performance.md has what was measured."""


class Upgrade(msgspec.Struct, frozen=True, kw_only=True):
    """What a start of this version would do."""

    version: str
    log: Literal["kept", "refused"]
    log_form: int
    """Of the folder; this program knows `log_form_known` only."""
    log_form_known: int
    tables: Literal["kept", "built anew"]
    tables_version: str | None
    """Schema and rules of what serves now, as in 32-r2; None where nothing serves."""
    tables_version_wanted: str
    archive: Literal["kept", "written anew", "none yet"]
    positions: int
    build_seconds_max: int
    """How long the tables may take, about; meanwhile captures are taken, and reads are answered with 503."""

    @property
    def changes_nothing(self) -> bool:
        return self.log == "kept" and self.tables == "kept" and self.archive != "written anew"


def look(var: Path) -> Upgrade:
    """Raises `MaintenanceError` where there is no data, or what is there cannot be read."""
    events = var / EVENTS_FILE
    if not events.exists():
        raise MaintenanceError(f"{var} holds no data; name the folder with --var")
    form = _asked(events, "PRAGMA user_version")
    head = _asked(events, "SELECT coalesce(max(rowid), 0) FROM stored_events")
    wanted, serving = f"{SCHEMA_VERSION}-r{RULES_VERSION}", _serving(var)
    archive: Literal["kept", "written anew", "none yet"] = "none yet"
    if (var / MANIFEST).exists():
        archive = "kept" if _asked(var / MANIFEST, "PRAGMA user_version") == MADE_OF else "written anew"
    built = serving != wanted
    return Upgrade(
        version=__version__,
        log="kept" if form == FORM else "refused",
        log_form=form,
        log_form_known=FORM,
        tables="built anew" if built else "kept",
        tables_version=serving,
        tables_version_wanted=wanted,
        archive=archive,
        positions=head,
        build_seconds_max=-(-head // REPLAY_EVENTS_PER_SECOND) if built else 0,
    )


def _serving(var: Path) -> str | None:
    """Schema and rules of the file that serves."""
    try:
        match = NAME.fullmatch((var / POINTER).read_text(encoding="ascii").strip())
    except (FileNotFoundError, UnicodeDecodeError):
        return None
    return None if match is None else f"{match[1]}-r{match[2]}"


def _asked(path: Path, query: str) -> int:
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as db:
            return int(db.execute(query).fetchone()[0])
    except sqlite3.Error as error:
        raise MaintenanceError(f"{path} cannot be read: {error}; `svc verify` says more") from error
