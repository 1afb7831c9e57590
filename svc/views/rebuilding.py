"""Replaying under a running server: the new views are built beside the old ones, then the server serves from them."""

import contextlib
from pathlib import Path

import msgspec
import structlog
import trio

from svc.limits import MEND_PAUSE_SECONDS
from svc.log.journal import Journal
from svc.views.projector import Projector
from svc.views.replay import build_in_child, build_in_thread
from svc.views.views import checked, new_file, remove
from svc.views.worker import Pace
from svc_http.ports import ReplayStatus

log = structlog.get_logger()


class NotRebuilt(Exception):
    """A replay ended without new views; the server's log says why."""


class Rebuilding:
    """Starts at most one build at a time and exchanges the views when it is done."""

    def __init__(self, var: Path, projector: Projector, journal: Journal, *, beside: bool) -> None:
        """`beside`: in a child process."""
        self._var = var
        self._projector = projector
        self._journal = journal
        self._beside = beside
        self._nursery: trio.Nursery | None = None
        self._ended = trio.Event()
        self._ended.set()
        self._mends_again = 0.0
        self.status = ReplayStatus()

    async def run(self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Own the builds until cancelled; the file of a build under way is left behind."""
        try:
            async with trio.open_nursery() as nursery:
                self._nursery = nursery
                task_status.started()
                await trio.sleep_forever()
        finally:
            self._nursery = None

    def start(self, rules_version: int | None) -> ReplayStatus:
        """Begin a replay, or join the one that runs. Raises `UnknownRules`."""
        rules = checked(rules_version)
        if self.status.state != "running":
            assert self._nursery is not None, "a replay is started only while the service runs"
            self.status = ReplayStatus(state="running")
            self._ended = trio.Event()
            self._nursery.start_soon(self._replay, rules)
        return self.status

    def mend(self, flaw: str) -> None:
        """Build damaged views anew, at most once in a while; `flaw` says what is damaged."""
        now = trio.current_time()
        if self._nursery is None or self.status.state == "running" or now < self._mends_again:
            return
        self._mends_again = now + MEND_PAUSE_SECONDS
        log.error("the views are damaged and are built anew from the log", flaw=flaw)
        self.start(None)

    async def anew(self) -> None:
        """Wait for the replay that runs, then run another one. Raises `NotRebuilt`."""
        await self._ended.wait()
        self.start(None)
        while self.status.state == "running":
            await self._ended.wait()
        if self.status.state == "failed":
            raise NotRebuilt("the views could not be built anew; the log says why")

    async def _replay(self, rules_version: int) -> None:
        path = new_file(self._var, rules_version)
        try:
            await self._build(path)
            await self._projector.exchange(path)
        except Exception:  # of the build, of the process that was to keep the new views, or of a full disk
            log.exception("a replay failed; the old views go on serving")
            self.status = ReplayStatus(state="failed", message="the build stopped; see the server's log")
            if path != self._projector.readers.path:
                with contextlib.suppress(OSError):  # the next start removes it
                    remove(path)
        else:
            self.status = msgspec.structs.replace(self.status, state="completed")
        finally:
            self._ended.set()

    async def _build(self, path: Path) -> None:
        def report(done: int, of: int) -> None:
            self.status = ReplayStatus(state="running", done=done, of=of)

        if self._beside:
            await build_in_child(self._var, path, report)
        else:
            # Captures, and readers of the views that serve, go before the new ones.
            pace = Pace(lambda: self._journal.busy or self._projector.wanted)
            await build_in_thread(self._var, path, report, give_way=pace)
