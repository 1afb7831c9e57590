"""Writes `http/svc_http/openapi/examples.json`: `python -m tests.support.openapi_examples`. Examples are what the
service really answers about the demo's month of work; the tests say which examples are missing or do not fit."""

import tempfile
from pathlib import Path
from typing import Any

import msgspec
import trio

from aggregates.event import Scope
from tests.support.basics import ACME, BEN
from tests.support.described import path_of
from tests.svc_http.house import Answer
from tests.svc_http.isolation_world import WORD, Ask, Row, World, ask, rows

FILE = Path(__file__).parents[2] / "http" / "svc_http" / "openapi" / "examples.json"
ITEMS_MAX, VALUES_MAX = 2, 8
ASKING = ("themself", "owner", "secret")
JSON = "application/json"


async def examples(folder: Path) -> dict[str, dict[str, Any]]:
    """Each route asked for as the matrix of doors asks for it, by the first who is let in."""
    world = World()
    await world.furnish()
    house = world.house
    await house.has_demo(Scope(ACME, BEN))
    sessions = await world.caller("api", "themself").get("/v1/score_v3/speed/sessions?window=monthly")
    goal = sessions.json[0]["score_v3_sub_session_id"]
    shown: dict[str, dict[str, Any]] = {}
    for row in rows():
        if row.kind.startswith("pages") or row.kind == "intake, an open question":  # nobody is let in
            continue
        await world.prepare(row)
        asked = ask(row, world.ids._replace(sub_session=goal))
        answer = await _answered(world, row, asked)
        told = {"body": asked.body} if isinstance(asked.body, dict) else {}
        if answer.body and answer.headers["Content-Type"] == JSON:
            told["answer"] = _short(answer.json)
        described = path_of(asked.path)
        if told and described is not None and row.path != "/openapi.json":
            shown[f"{row.method} {described.replace('{', '<').replace('}', '>')}"] = told
    return dict(sorted(shown.items()))


async def _answered(world: World, row: Row, asked: Ask) -> Answer:
    """A read tells of a month where it can."""
    more = "window=monthly&limit=2" if row.method == "GET" else ""
    path = f"{asked.path}{'&' if '?' in asked.path else '?'}{more}" if more else asked.path
    for name in ASKING:
        answer = await world.caller(row.listener, name).call(row.method, path, asked.body, asked.headers)
        if answer.status < 300:
            return answer
    raise AssertionError((row, answer))


def _short(value: Any) -> Any:
    match value:
        case [dict(), *_]:
            return [_short(each) for each in value[:ITEMS_MAX]]
        case list():
            return value[:VALUES_MAX]
        case dict():
            return {name: _short(each) for name, each in value.items()}
        case _:
            return value


def main() -> None:
    """Write the file."""
    with tempfile.TemporaryDirectory() as folder:
        found = trio.run(examples, Path(folder))
    written = msgspec.json.format(msgspec.json.encode(found), indent=1) + b"\n"
    FILE.write_bytes(written.replace(WORD.encode(), b"parser"))


if __name__ == "__main__":
    main()
