"""The golden folder, and what a program finds in it: tables, words and answers."""

import hashlib
import json
import lzma
import sqlite3
import tarfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any
from uuid import UUID

import msgspec
import trio
from eventsourcing.persistence import Notification

from svc.log.opening import open_log
from svc.process import Place
from svc.service import open_service
from svc.settings import Settings
from svc.views.replay import build, digests
from svc_http.app import build_api
from tests.support.basics import FixedClock
from tests.svc_http.house import Caller

HERE = Path(__file__).parent
PACKED = HERE / "var.tar.xz"
SHARED, SHARED_SCHEMA = HERE / "shared.sql.xz", "golden_shared_log"
MASTER_KEY = HERE / "master.key"
EXPECTED = HERE / "expected.json"
TOPICS = HERE.parent / "topics.txt"
VIEWS = "views*"  # the files of a folder that a program may build anew
READY_SECONDS = 30

Json = Any


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    now_us: int
    organization_id: UUID
    developers: dict[str, UUID]


class Expected(msgspec.Struct, frozen=True, kw_only=True):
    asked: Asked
    head: int
    topics: dict[str, int]
    words: dict[str, dict[str, Json]]
    sealed: dict[str, str]  # by developer a sealed text as it stood in the log, base64
    tables: dict[str, dict[str, Json]]
    reads: dict[str, dict[str, Json]]  # by who asks, and by path, what is answered: the paths are the questions


def expected() -> Expected:
    return msgspec.json.decode(EXPECTED.read_bytes(), type=Expected)


def unpacked(target: Path) -> Path:
    with tarfile.open(PACKED) as packed:
        # Python 3.11.4 brought the filter, and 3.12 asks for one.
        packed.extraction_filter = getattr(tarfile, "data_filter", lambda member, _path: member)
        packed.extractall(target)
    return target / "var"


def shared_log(schema: str) -> str:
    return lzma.decompress(SHARED.read_bytes()).decode().replace(SHARED_SCHEMA, schema)


# --- the log --------------------------------------------------------------------------------------------------


def stored_events(var: Path) -> Iterator[Notification]:
    query = "SELECT originator_id, originator_version, topic, state, rowid FROM stored_events ORDER BY rowid"
    with closing(sqlite3.connect(var / "events.db")) as db:
        for stream_id, version, topic, state, position in db.execute(query):
            yield Notification(UUID(stream_id), version, topic, state, position)


def topics_of(var: Path) -> dict[str, int]:
    return dict(sorted(Counter(each.topic for each in stored_events(var)).items()))


def words_of(at: Place | Path, developers: Mapping[str, UUID]) -> dict[str, dict[str, Json]]:
    """Of each developer how many texts can be read and how many cannot, and a digest of all that can."""
    with closing(open_log(at)) as store:
        events = [each.event for each in store.read_after(0, limit_events=100_000, limit_bytes=2**40)]
    return {
        name: _told([text for event in events for text in _texts(event, developer_id)])
        for name, developer_id in developers.items()
    }


def _texts(event: object, developer_id: UUID) -> Iterator[str | None]:
    if getattr(event, "developer_id", None) != developer_id:
        return
    for name in getattr(event, "__struct_fields__", ()):
        field = getattr(event, name)
        if hasattr(field, "text"):
            yield field.text


def _told(texts: Sequence[str | None]) -> dict[str, Json]:
    readable = [text for text in texts if text is not None]
    digest = hashlib.sha256("\0".join(readable).encode("utf-8", "surrogatepass"))
    return {"readable": len(readable), "gone": len(texts) - len(readable), "sha256": digest.hexdigest()}


# --- the tables -----------------------------------------------------------------------------------------------


def rebuilt_tables(at: Place | Path, path: Path) -> dict[str, dict[str, Json]]:
    """The tables as the log gives them from its first event, as `svc replay` builds them."""
    with closing(open_log(at)) as store:
        build(path, store, lambda _done, _of: None)
    with closing(sqlite3.connect(path)) as db:
        return {
            table: {"rows": db.execute(f"SELECT count(*) FROM {table}").fetchone()[0], "sha256": digest}
            for table, digest in digests(db).items()
        }


# --- the answers ----------------------------------------------------------------------------------------------


async def answers(var: Path, asked: Asked, paths: Mapping[str, Sequence[str]]) -> dict[str, dict[str, Json]]:
    """What is answered at each path, by who asks: a developer, or an internal caller."""
    secret = (var / "internal-secret").read_text(encoding="ascii").strip()
    settings = Settings(var=str(var), catalog_refresh=False)
    async with open_service(settings, clock=FixedClock(asked.now_us)) as service:
        app, found = build_api(service), dict[str, dict[str, Json]]()
        with trio.fail_after(READY_SECONDS):
            await service.projector.wait_for(service.journal.head)
        for name, wanted in paths.items():
            headers = {"X-Internal-Secret": secret}
            if name in asked.developers:  # an internal caller, who asks for this one
                headers |= {"X-Org-Id": str(asked.organization_id), "X-Developer-Id": str(asked.developers[name])}
            found[name] = {path: await _read(Caller(app, headers), path) for path in wanted}
        return found


async def _read(caller: Caller, path: str) -> Json:
    answer = await caller.get(path)
    assert answer.status < 400, f"{path}: {answer}"
    read = partial(json.loads, object_hook=_compared)
    if answer.headers["Content-Type"] == "application/x-ndjson":
        return [read(line) for line in answer.body.splitlines()]
    return read(answer.body) if answer.body else None


def _compared(found: dict[str, Json]) -> dict[str, Json]:
    """All but how many batches were read from the archive: a program that writes it anew reads others."""
    return {name: value for name, value in found.items() if name != "readBatches"}


# --- the differences ------------------------------------------------------------------------------------------


def differences(wanted: Json, found: Json, place: str = "") -> Iterator[str]:
    """Each place of a JSON value at which another one differs from it."""
    match wanted, found:
        case dict(), dict():
            for key in [*wanted, *(key for key in found if key not in wanted)]:
                inner = f"{place} > {key}" if place else str(key)
                yield from differences(wanted.get(key, "(missing)"), found.get(key, "(missing)"), inner)
        case list(), list():
            if len(wanted) != len(found):
                yield f"{place}: expected {len(wanted)} items, found {len(found)}"
            for index, (one, other) in enumerate(zip(wanted, found, strict=False)):
                yield from differences(one, other, f"{place}[{index}]")
        case _ if wanted != found or type(wanted) is not type(found):
            yield f"{place}: expected {wanted!r}, found {found!r}"
