"""The running server as it is shown to the one who looks after it."""

from typing import Literal

import msgspec

from projections.activation import Activation


class ReplayStatus(msgspec.Struct, frozen=True, kw_only=True):
    """How far the newest replay has come."""

    state: Literal["none", "running", "completed", "failed"] = "none"
    done: int = 0
    of: int = 0
    """Events applied, and events there are."""
    message: str | None = None


class LogShown(msgspec.Struct, frozen=True, kw_only=True):
    """The event log."""

    head: int
    """The position of its last event."""
    writable: bool
    events: dict[str, int] | None
    """How many of each kind; null where counting would take too long."""


class ViewsShown(msgspec.Struct, frozen=True, kw_only=True):
    """The tables that reads are answered from."""

    file: str
    rules_version: int
    position: int
    lag_events: int
    level: bool
    """Whether they have caught up with the log as it was at the start: before, reads answer 503."""
    failed_events: int
    """Events that could not be derived from, and were passed over."""


class ArchiveShown(msgspec.Struct, frozen=True, kw_only=True):
    """The Parquet files of model requests."""

    position: int
    files: int
    rows: int
    bytes: int


class CatalogShown(msgspec.Struct, frozen=True, kw_only=True):
    """The list prices that are served."""

    revision: int
    published_at: str
    refreshed_at: str
    stale: bool
    models: int


class DeveloperStatus(msgspec.Struct, frozen=True, kw_only=True):
    """A developer, and how far they have come."""

    developer_id: str
    display_name: str
    activation: Activation
    active: bool
    """Whether they are a member of any organization now."""


class Waiting(msgspec.Struct, frozen=True, kw_only=True):
    """What is on its way to the disk."""

    developers: int
    """How many have an actor just now."""
    commands: int
    bytes: int


class Status(msgspec.Struct, frozen=True, kw_only=True):
    """The running server; `state` is `stopped` where a command looked at the folder itself."""

    state: Literal["serving", "stopped"]
    version: str
    process_id: int | None
    intake: str | None
    api: str | None
    started_at: str | None
    uptime_seconds: int | None
    log: LogShown
    views: ViewsShown
    waiting: Waiting
    archive: ArchiveShown | None
    catalog: CatalogShown | None
    replay: ReplayStatus
    developers: list[DeveloperStatus]
    disk_bytes: dict[str, int]
    """What each part of the data folder takes."""
    missing_keys: list[str] = []
    """Developers whose data key was made and whose key file is gone: `svc verify` says what to do."""
