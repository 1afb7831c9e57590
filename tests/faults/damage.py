"""Damage files: views are built again, damaged archive files are named, left out and counted."""

import json
import os
import random
import sqlite3
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from svc.archive.folder import Archive
from svc.archive.lane import archive_changes
from svc.log.opening import open_log
from tests.faults.household import LEVEL_SECONDS, House, wait_gone
from tests.faults.load import get
from tests.faults.outcome import Outcome
from tests.faults.program import Server, beside
from tests.faults.trial import Trial

CAPTURES = (40, 100)
PAGE_BYTES = 4096
FILE_ROWS = 40
"""In one file of the archive, so that there are some."""
READS = (
    "/v1/score_v3/today-summary",
    "/v1/score_v3/score",
    "/v1/score_v3/realtime/sub-sessions",
    "/v1/score_v3/prompts/top",
    "/v1/score_v3/skill",
    "/v1/score_v3/tokens?window=daily",
    "/v1/telemetry/stats?from=2000-01-01",
    "/v1/telemetry/logs",
)
_POLL_SECONDS = 0.2


def damaged_views(trial: Trial) -> None:
    """Each kind of damage so many times, while nobody serves and while somebody does."""
    trial.each("views", lambda house, chance: _damages(house, chance, trial.outcome))


def _damages(house: House, chance: random.Random, outcome: Outcome) -> None:
    server = house.serve()
    for name, damage in AT_A_START:
        _captures(house, server, chance)
        server.kill()
        wait_gone(house.var)
        damage(house.var, chance)
        server = house.serve()
        _served_again(house, server, f"{name}, at a start", outcome)
    _captures(house, server, chance)
    _pages(house.var, chance)
    _captures(house, server, chance)
    _served_again(house, server, "pages, while running", outcome)
    house.settle(server, outcome, f"{house.var}")
    outcome.check(server.stop() == 0, f"{house.var}: the server does not stop in order")


def _captures(house: House, server: Server, chance: random.Random) -> None:
    house.load.resume(server)
    house.load.wait_for(chance.randint(*CAPTURES))
    house.load.pause()


def _served_again(house: House, server: Server, where: str, outcome: Outcome) -> None:
    """Every read is answered before long, and until then refused in order."""
    end = time.monotonic() + LEVEL_SECONDS
    left = list(READS)
    while left and time.monotonic() < end:
        status, body = get(server.api, left[0], house.owners[0])
        if status == 200:
            left.pop(0)
            continue
        outcome.check(status == 503, f"{where}: {left[0]} is answered {status}: {body[:200]!r}")
        outcome.count("reads answered 503 meanwhile")
        time.sleep(_POLL_SECONDS)
    outcome.check(not left, f"{where}: {left[:1]} is never answered again")
    house.look(outcome, where)
    outcome.tried += 1


def _views(var: Path) -> Path:
    return var / (var / "views.current").read_text().strip()


def _overwrite(path: Path, offset: int, end: int) -> None:
    with path.open("r+b") as file:
        file.seek(offset)
        file.write(os.urandom(end - offset))


def _pages(var: Path, _chance: random.Random) -> None:
    """All but the first page, which is all that an opening looks at."""
    path = _views(var)
    _overwrite(path, PAGE_BYTES, path.stat().st_size)


def _header(var: Path, _chance: random.Random) -> None:
    _overwrite(_views(var), 0, 100)


def _half(var: Path, chance: random.Random) -> None:
    path = _views(var)
    os.truncate(path, chance.randrange(1, path.stat().st_size))


def _gone(var: Path, _chance: random.Random) -> None:
    for path in var.glob("views-*"):
        path.unlink()


def _pointer(var: Path, _chance: random.Random) -> None:
    (var / "views.current").write_bytes(os.urandom(20))


def _log_ahead(var: Path, chance: random.Random) -> None:
    """The write-ahead log beside them."""
    path = Path(f"{_views(var)}-wal")
    if path.exists() and path.stat().st_size:
        _overwrite(path, chance.randrange(path.stat().st_size), path.stat().st_size)


AT_A_START: tuple[tuple[str, Callable[[Path, random.Random], None]], ...] = (
    ("pages", _pages),
    ("the header", _header),
    ("cut short", _half),
    ("deleted", _gone),
    ("the pointer", _pointer),
    ("the write-ahead log", _log_ahead),
)


def damaged_archive(trial: Trial) -> None:
    """One file of some is overwritten, cut short or deleted."""
    trial.each("archive", lambda house, chance: _archive_once(house, chance, trial.outcome))


def _archive_once(house: House, chance: random.Random, outcome: Outcome) -> None:
    team_id = house.program.json(house.var, "team", "create", "Core")["team_id"]
    for owner in house.owners:
        house.program.run(house.var, "team", "add", "Core", owner.developer_id)
    server = house.serve()
    for _ in range(3):
        _captures(house, server, chance)
    whole = _cost(house, server, team_id)
    server.stop()
    files = archive_all(house.var)
    outcome.count("files", len(files))
    for name, harm in HARMS:
        path = chance.choice(files)
        kept = path.read_bytes()
        harm(path)
        server = house.serve()
        found = _cost(house, server, team_id)
        where = f"{house.var}, {name}"
        outcome.check(found["readCoverage"]["unreadableFiles"] == 1, f"{where}: {found['readCoverage']}")
        outcome.check(bool(found["isPartial"]), f"{where}: a part of the figures is shown as all of them")
        told = beside(house.var, "log").read_text()
        outcome.check(path.name in told, f"{where}: the log does not name {path.name}")
        named = [each["where"] for each in house.program.json(house.var, "verify")["findings"]]
        outcome.check(len(named) == 1 and path.name in named[0], f"{where}: svc verify names {named}")
        path.write_bytes(kept)
        again = _cost(house, server, team_id)
        outcome.check(again["rollup"] == whole["rollup"], f"{where}: whole again, {again['rollup']} are shown")
        outcome.check(server.stop() == 0, f"{where}: the server does not stop in order")
        outcome.tried += 1
    server = house.serve()
    house.settle(server, outcome, f"{house.var}")


def _cost(house: House, server: Server, team_id: str) -> dict[str, dict[str, object]]:
    status, body = get(server.api, f"/v1/team/cost?team_id={team_id}&window=weekly&tz=UTC", house.owners[0])
    if status != 200:
        raise RuntimeError(f"the team's cost is answered {status}: {body[:300]!r}")
    found: dict[str, dict[str, object]] = json.loads(body)
    return found


def archive_all(var: Path) -> list[Path]:
    """What a server does every five minutes, at once, in a folder that nobody holds; the files."""
    store, _ = open_log(var)
    archive = Archive(var, store.fingerprint)
    try:
        with closing(sqlite3.connect(f"{_views(var).as_uri()}?mode=ro", uri=True)) as views:
            while archive_changes(archive, views, FILE_ROWS):
                pass
        return [archive.path(file) for file in archive.files()]
    finally:
        archive.close()
        store.close()


def _bytes(path: Path) -> None:
    _overwrite(path, 8, path.stat().st_size - 8)


def _short(path: Path) -> None:
    os.truncate(path, path.stat().st_size // 2)


HARMS: tuple[tuple[str, Callable[[Path], None]], ...] = (
    ("overwritten", _bytes),
    ("cut short", _short),
    ("deleted", Path.unlink),
)
