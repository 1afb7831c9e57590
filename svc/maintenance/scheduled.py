"""Backups that the server makes by itself: one every so many hours into a folder, and the oldest of them removed."""

import re
import stat
from datetime import UTC, datetime, timedelta
from pathlib import Path

import structlog
import trio

from aggregates.times import US_PER_SECOND, iso
from svc.actors.actors import Clock
from svc.maintenance.backup import MaintenanceError, back_up, remove
from svc.settings import Settings
from svc_http.ports import BackupsShown

BACKUP_LOOK_SECONDS = 60.0  # how often the server looks whether a backup is due; a look lists one folder
BACKUP_RETRY_SECONDS = 900.0  # after a scheduled backup failed: a full disk is not written to again and again

log = structlog.get_logger()
_NAME = re.compile(r"svc-\d{8}T\d{6}Z\.tar")
_FORMAT = "svc-%Y%m%dT%H%M%SZ.tar"
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_US_PER_HOUR = 3_600 * US_PER_SECOND


class ScheduledBackups:
    """What is in the folder tells when the next one is due, so a restart changes nothing."""

    def __init__(self, var: Path, folder: Path, every_hours: int, keep: int, clock: Clock) -> None:
        self._var = var
        self._folder = folder
        self._every_us = every_hours * _US_PER_HOUR
        self._keep = keep
        self._clock = clock
        self.failures = 0  # since the start

    async def run(self) -> None:
        """Make what is due at once, and then look again and again."""
        while True:
            failed = False
            try:
                await self.step()
            except Exception:
                failed = True
                self.failures += 1
                log.exception("a scheduled backup could not be made; it is tried again", folder=str(self._folder))
            await trio.sleep(BACKUP_RETRY_SECONDS if failed else BACKUP_LOOK_SECONDS)

    async def step(self) -> Path | None:
        """The backup that was due; None where none was. Raises `MaintenanceError`, `OSError`."""
        now_us = self._clock.now_us()
        kept = self.kept()
        if kept and 0 <= now_us - _made_us(kept[0]) < self._every_us:
            return None
        target = self._folder / (_EPOCH + timedelta(microseconds=now_us)).strftime(_FORMAT)
        await trio.to_thread.run_sync(self._make, target)
        log.info("a scheduled backup was made", file=str(target), bytes=target.stat().st_size)
        return target

    def _make(self, target: Path) -> None:
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        mode = self._folder.lstat().st_mode
        if stat.S_ISLNK(mode):
            raise MaintenanceError(f"backup_folder {self._folder} is a link: name the folder itself")
        if mode & (stat.S_IWGRP | stat.S_IWOTH):  # who may write there may put a link in the place of a backup
            why = f"others may write to backup_folder {self._folder}"
            raise MaintenanceError(f"{why}: `chmod go-w {self._folder}`, or name a folder of your own")
        # A server that stops does not wait for a backup: half a one is removed, and made anew at the next start.
        back_up(self._var, target, lambda _done, _of: trio.from_thread.check_cancelled())
        for old in self.kept()[self._keep :]:
            remove(old)

    def kept(self) -> list[Path]:
        """Those that this made, the newest first; files of other names are left alone."""
        found = (path for path in self._folder.glob("svc-*.tar") if _NAME.fullmatch(path.name))
        return sorted(found, reverse=True)

    def age_seconds(self) -> float | None:
        """Of the newest one; None where there is none."""
        newest = next(iter(self.kept()), None)
        return None if newest is None else max(self._clock.now_us() - _made_us(newest), 0) / US_PER_SECOND

    def shown(self) -> BackupsShown:
        kept, age = self.kept(), self.age_seconds()
        return BackupsShown(
            folder=str(self._folder),
            kept=len(kept),
            newest_at=iso(_made_us(kept[0])) if kept else None,
            age_seconds=None if age is None else round(age),
            overdue=age is None or age > 2 * self._every_us / US_PER_SECOND,
            failures=self.failures,
        )


def _made_us(backup: Path) -> int:
    """When it was begun, by its name: so a clock that was set back makes no backup look young."""
    made = datetime.strptime(backup.name, _FORMAT).replace(tzinfo=UTC)
    return (made - _EPOCH) // timedelta(microseconds=1)


def scheduled_backups(settings: Settings, clock: Clock) -> ScheduledBackups | None:
    """The backups that the settings want."""
    if not settings.backup_every:
        return None
    return ScheduledBackups(settings.var_path, settings.backup_path, settings.backup_every, settings.backup_keep, clock)
