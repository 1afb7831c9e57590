"""Damage the files of the views: they are built again."""

import os
import random
from collections.abc import Callable
from functools import partial
from pathlib import Path

from tests.faults.house import House, Trial
from tests.support.driver import until
from tests.support.process import Server

CAPTURES = (40, 100)
PAGE_BYTES = 4096
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
