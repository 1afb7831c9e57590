"""Damage files: views are built again, damaged archive files are named, left out and counted."""

import os
import random
import sqlite3
from collections.abc import Callable
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

from svc.archive.folder import Archive
from svc.archive.lane import archive_changes
from svc.log.opening import open_log
from tests.faults.house import House, Trial
from tests.support.driver import until
from tests.support.process import Server, beside

CAPTURES = (40, 100)
PAGE_BYTES = 4096
FILE_ROWS = 40  # in one file of the archive, so that there are some
READS = (
    *(f"/v1/score_v3/{name}" for name in ("today-summary", "score", "realtime/sub-sessions", "prompts/top", "skill")),
    *("/v1/score_v3/tokens?window=daily", "/v1/telemetry/stats?from=2000-01-01", "/v1/telemetry/logs"),
)


def damaged_views(trial: Trial) -> None:
    """Each kind of damage so many times, while nobody serves and while somebody does."""
    trial.each("views", _damages)


def _damages(house: House, chance: random.Random) -> None:
    server = house.serve()
    for name, damage in AT_A_START:
        house.worked(server, chance.randint(*CAPTURES))
        server.kill()
        house.wait_gone()
        damage(house.var, chance)
        server = house.serve()
        _served_again(house, server, f"{name}, at a start")
    house.worked(server, chance.randint(*CAPTURES))
    _pages(house.var, chance)
    house.worked(server, chance.randint(*CAPTURES))
    _served_again(house, server, "pages, while running")
    house.settle(server)


def _served_again(house: House, server: Server, where: str) -> None:
    """Every read is answered before long, and until then refused in order."""
    for path in READS:
        found = until(partial(_answered, house, server, path, where))
        house.check(found, f"{where}: {path} is never answered again")
    house.look(where)
    house.outcome.tried += 1


def _answered(house: House, server: Server, path: str, where: str) -> bool:
    answer = house.get(server, path)
    if answer.status != 200:
        house.check(answer.status == 503, f"{where}: {path} is answered {answer.status}: {answer.body[:200]!r}")
        house.outcome.count("reads answered 503 meanwhile")
    return answer.status == 200


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


def _log_ahead(var: Path, chance: random.Random) -> None:
    path = Path(f"{_views(var)}-wal")
    if path.exists() and path.stat().st_size:
        _overwrite(path, chance.randrange(path.stat().st_size), path.stat().st_size)


AT_A_START: tuple[tuple[str, Callable[[Path, random.Random], object]], ...] = (
    ("pages", _pages),
    ("the header", lambda var, _chance: _overwrite(_views(var), 0, 100)),
    ("cut short", lambda var, chance: os.truncate(_views(var), chance.randrange(1, _views(var).stat().st_size))),
    ("deleted", lambda var, _chance: [*map(Path.unlink, var.glob("views-*"))]),
    ("the pointer", lambda var, _chance: (var / "views.current").write_bytes(os.urandom(20))),
    ("the write-ahead log", _log_ahead),
)


def damaged_archive(trial: Trial) -> None:
    """One file of some is overwritten, cut short or deleted."""
    trial.each("archive", _archive_once)


def _archive_once(house: House, chance: random.Random) -> None:
    team_id = house.program.json("team", "create", "Core", "--var", house.var)["team_id"]
    for owner in house.owners:
        house.program.run("team", "add", "Core", owner.developer_id, "--var", house.var)
    server = house.serve()
    for _ in range(3):
        house.worked(server, chance.randint(*CAPTURES))
    whole = _cost(house, server, team_id)
    house.stops(server)
    files = archive_all(house.var)
    house.outcome.count("files", len(files))
    for name, harm in HARMS:
        path = chance.choice(files)
        kept = path.read_bytes()
        harm(path)
        server = house.serve()
        found = _cost(house, server, team_id)
        house.check(found["readCoverage"]["unreadableFiles"] == 1, f"{name}: {found['readCoverage']}")
        house.check(found["isPartial"], f"{name}: a part of the figures is shown as all of them")
        house.check(path.name in beside(house.var, "log").read_text(), f"{name}: the log does not name {path.name}")
        named = [each["where"] for each in house.program.json("verify", "--var", house.var)["findings"]]
        house.check(len(named) == 1 and path.name in named[0], f"{name}: svc verify names {named}")
        path.write_bytes(kept)
        again = _cost(house, server, team_id)
        house.check(again["rollup"] == whole["rollup"], f"{name}: whole again, {again['rollup']} are shown")
        house.stops(server)
        house.outcome.tried += 1
    house.settle(house.serve())


def _cost(house: House, server: Server, team_id: str) -> Any:
    answer = house.get(server, f"/v1/team/cost?team_id={team_id}&window=weekly&tz=UTC")
    if answer.status != 200:
        raise RuntimeError(f"the team's cost is answered {answer.status}: {answer.body[:300]!r}")
    return answer.json


def archive_all(var: Path) -> list[Path]:
    """What a server does every five minutes, at once, in a folder that nobody holds; the files."""
    store, _ = open_log(var)
    with (
        closing(store),
        closing(Archive(var, store.fingerprint)) as archive,
        closing(sqlite3.connect(f"{_views(var).as_uri()}?mode=ro", uri=True)) as views,
    ):
        while archive_changes(archive, views, FILE_ROWS):
            pass
        return [archive.path(file) for file in archive.files()]


HARMS: tuple[tuple[str, Callable[[Path], None]], ...] = (
    ("overwritten", lambda path: _overwrite(path, 8, path.stat().st_size - 8)),
    ("cut short", lambda path: os.truncate(path, path.stat().st_size // 2)),
    ("deleted", Path.unlink),
)
