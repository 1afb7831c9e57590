"""Replaying under a running server: a child process builds the new views, then the server serves from them."""

import contextlib
import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

import msgspec
import structlog
import trio

from svc.limits import CHILD_LINE_BYTES_MAX, MEND_PAUSE_SECONDS
from svc.process import program
from svc.views.projector import Projector
from svc.views.replay import BuildStep, Progress
from svc.views.views import checked, new_file, remove
from svc_http.ports import ReplayStatus

log = structlog.get_logger()


async def build_in_child(
    progress: Progress, options: Mapping[str, object], environment: Mapping[str, str] | None = None
) -> None:
    """Run `svc build-views` as a child process and follow it; it is stopped when this is cancelled.

    Raises `CalledProcessError` where the child fails; it says why on standard error.
    """
    command = [*program(), "build-views", *(str(part) for option in options.items() for part in option)]
    child_environment = os.environ | (environment or {})
    process = await trio.lowlevel.open_process(command, stdout=subprocess.PIPE, env=child_environment)
    assert process.stdout is not None
    try:
        await _follow(process.stdout, progress)
        code = await process.wait()
    finally:
        with trio.CancelScope(shield=True):
            process.terminate()
            await process.wait()
    if code != 0:
        raise subprocess.CalledProcessError(code, "svc build-views")


async def _follow(lines: trio.abc.ReceiveStream, progress: Progress) -> None:
    rest = b""
    async for chunk in lines:
        *whole, rest = (rest + chunk)[-CHILD_LINE_BYTES_MAX:].split(b"\n")
        if whole:
            step = msgspec.json.decode(whole[-1], type=BuildStep)
            progress(step.done, step.of)


class NotRebuilt(Exception):
    """A replay ended without new views; the server's log says why."""


class Rebuilding:
    """Starts at most one build at a time and exchanges the views when it is done."""

    def __init__(self, var: Path, projector: Projector) -> None:
        self._var = var
        self._projector = projector
        self._nursery: trio.Nursery | None = None
        self._ended = trio.Event()
        self._ended.set()
        self._mends_again = 0.0
        self.status = ReplayStatus()

    async def run(self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Own the builds until cancelled; a build under way is then stopped and its file left behind."""
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
        """Build views anew of which a page or a row cannot be read, once in a while; `flaw` says which.

        Whoever meets it while the service starts meets it again.
        """
        now = trio.current_time()
        if self._nursery is None or self.status.state == "running" or now < self._mends_again:
            return
        self._mends_again = now + MEND_PAUSE_SECONDS
        log.error("the views are damaged and are built anew from the log", flaw=flaw)
        self.start(None)

    async def anew(self) -> None:
        """Once the replay that runs has ended, another one from its beginning to its end. Raises `NotRebuilt`."""
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

        await build_in_child(report, {"--var": self._var, "--build": path})
