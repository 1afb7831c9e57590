"""A service over a real folder with a month of work in it, and what can be seen of it from outside."""

import sqlite3
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import Any, NamedTuple
from uuid import UUID, uuid4

from msgspec import structs

from aggregates.capture.events import DECODER_VERSION, CapturePrompt, RecordsCaptured
from aggregates.decide import AnyCommand
from aggregates.event import Digester, Done, Refused, Reply, Scope, Words
from aggregates.people.acts import CreateDeveloper, StartMembership
from aggregates.people.directory import Membership
from aggregates.records.record import Record, TextPool
from aggregates.sub_sessions.sub_session import EditTitle
from svc.cli.demo import write_transcripts
from svc.importing.claude_code import CLAUDE_CODE
from svc.log.opening import open_log
from svc.process import Place
from svc.service import RunningService, open_service
from svc.serving import initialize
from svc.settings import Settings
from svc.views.replay import build, digests
from svc.views.views import current_file
from tests.support.basics import FixedClock
from tests.support.imported import import_transcripts

NOW_US = 1_780_000_000 * 1_000_000
PLANTED = "heliotrope-4711"
SECOND = 1_000_000


class Household(NamedTuple):
    """A service, its owner, a second member, and a clock that only the test moves."""

    var: Path
    service: RunningService
    owner: Scope
    other: Scope
    clock: FixedClock
    key: str | None = None  # the owner's, where the folder was new

    async def prompt(
        self, text: str, scope: Scope | None = None, session: str = "s1", at_us: int | None = None
    ) -> UUID:
        """Capture a prompt; its id."""
        command = CapturePrompt(
            **structs.asdict(scope or self.owner),
            prompt_id=uuid4(),
            agent_session_id=session,
            source="claude-code",
            text=text,
            cwd=f"/home/{PLANTED}/work",
            submitted_at_us=at_us,
        )
        assert isinstance(await self.service.send(command), Done)
        return command.prompt_id

    async def records(self, text: str, at_us: int, scope: Scope | None = None, session: str = "s1") -> None:
        """Capture a prompt, a shell command and a tool call as an agent's telemetry tells them, with the export."""
        table = TextPool()
        usual: dict[str, Any] = {"kind": "tool", "ok": True}
        kinds: tuple[dict[str, Any], ...] = (
            {"kind": "prompt", "ok": None, "text": table.add(text), "origin": 0},
            {"tool": "Bash", "command": table.add("pytest")},
            {"tool": "Edit", "path": table.add(f"/{text}")},
            {"kind": "request", "ok": None, "input_tokens": 100, "output_tokens": 10, "origin": 3},
        )
        records = tuple(
            Record(record_id=f"{letter}{at_us}", at_us=at_us + place, **(usual | each))
            for place, (letter, each) in enumerate(zip("pcer", kinds, strict=True))
        )
        command = RecordsCaptured(
            **structs.asdict(scope or self.owner),
            agent_session_id=session,
            source="claude-code",
            decoder_version=DECODER_VERSION,
            records=records,
            words=Words(table.words),
            raw=Words(f'{{"body": "{text}"}}'),
        )
        assert isinstance(await self.service.send(command), Done)

    async def work(self, scope: Scope | None = None, session: str = "s1", at_us: int | None = None) -> None:
        """A little of everything: prompts that repeat one another, telemetry, a title."""
        begun_us = self.clock.now_us() if at_us is None else at_us
        for number in range(5):
            text = f"Please fix the parser of {PLANTED} in src/a.py, it fails again"
            await self.prompt(text, scope, session, begun_us + 10 * number * SECOND)
        await self.records(f"Now add a test for {PLANTED} and run it", begun_us + 90 * SECOND, scope, session)
        text = f"Document {PLANTED} thoroughly in README.md"
        named = await self.prompt(text, scope, session, begun_us + 200 * SECOND)
        told: dict[str, Any] = {"turn_id": named, "title": f"About {PLANTED}", "summary": PLANTED}
        await self.service.send(EditTitle(**structs.asdict(scope or self.owner), **told))

    async def level(self) -> None:
        """Until the views hold all there is."""
        await self.service.projector.wait_for(self.service.journal.head)

    def tables(self) -> dict[str, str]:
        """The digest of every table that serves."""
        return tables_of(self.var)


def damage(var: Path, where: str, change: Callable[[bytes], bytes] = lambda _state: b"") -> int:
    """Change the first of these events as no program would; its position."""
    with closing(sqlite3.connect(var / "events.db")) as db, db:
        position, state = db.execute(f"SELECT min(rowid), state FROM stored_events WHERE {where}").fetchone()
        db.execute("UPDATE stored_events SET state = ? WHERE rowid = ?", (change(state), position))
    return int(position)


class Worked(NamedTuple):
    """A stopped folder with the work of two."""

    var: Path
    owner: Scope
    other: Scope


async def worked_by_two(var: Path) -> Worked:
    async with household(var) as house:
        await house.work()
        await house.work(house.other, "s2")
        await house.level()
        await house.service.archive.catch_up()
    return Worked(var, house.owner, house.other)


def no_progress(_done: int, _of: int) -> None:
    """Nobody looks."""


def tables_of(var: Path) -> dict[str, str]:
    """The digest of every table that serves in a folder."""
    path = current_file(var)
    assert path is not None
    with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as db:
        return _conclusions(db)


def rebuilt(at: Place | Path, path: Path) -> dict[str, str]:
    """The digest of every table as the log of a folder gives them from its first event."""
    with closing(open_log(at)) as store:
        build(path, store, no_progress, batch_events=41)
    with closing(sqlite3.connect(path)) as db:
        return _conclusions(db)


def _conclusions(db: sqlite3.Connection) -> dict[str, str]:
    """All but the place in the log, which goes on with every fact."""
    return {table: digest for table, digest in digests(db).items() if table != "bookmark"}


def holding(folder: Path, *needles: bytes) -> list[str]:
    """The files below a folder in which one of these stands, anywhere: free pages and write-ahead logs as well."""
    files = [path for path in folder.rglob("*") if path.is_file()]
    return sorted(str(path.relative_to(folder)) for path in files if any(n in path.read_bytes() for n in needles))


@asynccontextmanager
async def household(
    var: Path, *, demo: bool = False, now_us: int = NOW_US, reporting: bool = False, **more: Any
) -> AsyncIterator[Household]:
    """A folder that is set up, with two members; `demo`: and a month of the sample's work by the owner. `more`: of
    settings."""
    clock = FixedClock(now_us)
    settings = Settings(var=str(var), catalog_refresh=False, **more)
    async with open_service(settings, clock=clock, reporting=reporting) as service:
        made = await initialize(service, var)
        owner, other = await _members(service)
        house = Household(var, service, owner, other, clock, made.key if made else None)
        if demo:
            folder = var.parent / "demo"
            await import_demo(folder, service.send, owner, service.store.vault.digester(owner.developer_id), NOW_US)
        yield house


async def _members(service: RunningService) -> tuple[Scope, Scope]:
    known = [Scope(each.organization_id, each.developer_id) for each in service.directory.all(Membership)]
    if len(known) == 1:
        second = Scope(known[0].organization_id, uuid4())
        for command in (
            CreateDeveloper(developer_id=second.developer_id, display_name="Second"),
            StartMembership(organization_id=second.organization_id, developer_id=second.developer_id),
        ):
            assert not isinstance(await service.administer(command), Refused)
        known.append(second)
    return known[0], known[1]


async def import_demo(
    folder: Path, send: Callable[[AnyCommand], Awaitable[Reply]], scope: Scope, digester: Digester, now_us: int
) -> None:
    """About a month of work, up to a time; `folder` is used for the transcripts."""
    write_transcripts(folder, now_us=now_us)
    await import_transcripts(CLAUDE_CODE, folder, send, lambda *_: None, scope=scope, digester=digester, now_us=now_us)
