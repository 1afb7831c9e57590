"""The matrix of closed doors, cell by cell: `python -m tests.pages doors` writes it. Each cell is a request about what
belongs to somebody else, sent to the two listeners within this process."""

import http
from collections import Counter
from collections.abc import Collection
from typing import NamedTuple

from aggregates.capture.events import ForeignSessionAttempted
from tests.svc_http.house import Answer, Caller
from tests.svc_http.isolation_world import UNKNOWN, Ask, Ids, Row, Wanted, World, ask, rows, table, wanted

READS = {
    "POST /v1/insights/report/generate",
    "POST /v1/insights/report/quick",
    "POST /v1/telemetry/per-turn",
    "POST /v1/score_v3/goals/search",
    "POST /v1/judge/answers",
    "POST /habits/grade",
    "POST /sign-in/provider",
}
"""They read, whatever their method says, or refuse what is sent by name."""
OTHERS = ("colleague", "stranger", "owner")
"""Who get in with a key of their own."""
_CALL = Caller.call


class Cell(NamedTuple):
    """One route and one caller: what came of it, and what is wrong with that."""

    row: Row
    caller: str
    wanted: Wanted
    status: int
    faults: tuple[str, ...]


class Matrix(NamedTuple):
    cells: list[Cell]
    shown: Counter[str]
    """Routes by whether their answer to the developer tells of them, so that silence to others means something."""

    @property
    def faults(self) -> list[str]:
        return [f"{each.row.name}, {each.caller}: {fault}" for each in self.cells for fault in each.faults]


async def matrix(kinds: Collection[str] = frozenset()) -> Matrix:
    """Ask for everything, or these kinds of routes, as everybody. A route's refusals come first, since success may use
    things up; the routes that leave flags come last, since their callers are shown those."""
    world = World()
    await world.furnish()
    kinds_of, found = table().kinds, Matrix([], Counter())
    flagging = {kind for kind, cells in kinds_of.items() if any(cell.endswith("*") for cell in cells.values())}
    for row in sorted(rows(), key=lambda row: row.kind in flagging):
        if kinds and row.kind not in kinds:
            continue
        await world.prepare(row)
        cells = {caller: wanted(row, cell) for caller, cell in kinds_of[row.kind].items()}
        for caller in sorted(cells, key=lambda name: cells[name].let_in):
            found.cells.append(await _cell(world, row, caller, cells[caller], found.shown))
            if cells[caller].let_in:
                await world.prepare(row)
    return found


async def _cell(world: World, row: Row, caller: str, cell: Wanted, shown: Counter[str]) -> Cell:
    before, head = world.state(), len(world.house.events)
    asked = ask(row, world.ids)
    answer = await _answer(world, row, caller, asked)
    faults = []
    if answer.status != cell.status:
        faults.append(f"{answer.status} instead of {cell.status}: {answer.body[:200]!r}")
    for_people = row.path == "/docs" or row.kind.startswith("pages")
    if answer.body and "html" in answer.headers["Content-Type"] and not for_people:
        faults.append("it is a page")
    changed = world.state() != before
    if cell.flagged:
        flags = [each for each in world.house.events[head:] if not isinstance(each, ForeignSessionAttempted)]
        faults += [f"stored {type(each).__name__}" for each in flags]
    elif changed and (not cell.let_in or row.method == "GET"):
        faults.append("it changed something")
    may_know = cell.let_in or cell.status == http.HTTPStatus.CONFLICT
    of_owners = row.kind.startswith("pages, a") and "owner's" in row.kind
    looks_after = caller in ("owner", "operator") and may_know and of_owners
    if (caller in ("none", *OTHERS) or not cell.let_in) and not looks_after:
        faults += _leaks(world, row, asked, answer)
    if caller in OTHERS and not cell.flagged and row.kind != "public" and not looks_after:
        faults += await _tells_apart(world, row, caller, asked, answer)
    if cell.let_in and caller == "themself" and any(each.encode() in answer.body for each in world.markers()):
        shown[row.kind] += 1
    if cell.let_in and caller in ("delegated", "secret") and not changed and f"{row.method} {row.path}" not in READS:
        faults += [] if row.method == "GET" else ["it was let in, and changed nothing"]
    return Cell(row, caller, cell, answer.status, tuple(faults))


async def _answer(world: World, row: Row, caller: str, asked: Ask) -> Answer:
    return await _CALL(world.caller(row.listener, caller), row.method, asked.path, asked.body, asked.headers)


def _leaks(world: World, row: Row, asked: Ask, answer: Answer) -> list[str]:
    """What an answer to somebody else tells of the developer, but for what was asked in the same words."""
    if row.path in ("/openapi.json", "/docs"):
        return []  # their examples were made with the names of these tests
    sent = f"{asked.path} {asked.body}"
    text = answer.body.decode() + str(answer.headers)
    return [f"it tells of {each!r}" for each in world.markers() if each in text and each not in sent]


async def _tells_apart(world: World, row: Row, caller: str, asked: Ask, answer: Answer) -> list[str]:
    """Whether the same request about what does not exist is answered otherwise, the ids themselves aside."""
    other = ask(row, UNKNOWN)
    if other == asked or answer.status in (201, 202):
        return []
    unknown = await _answer(world, row, caller, other)
    same = _without_ids(answer, world.ids) == _without_ids(unknown, UNKNOWN)
    return [] if same else [f"{answer.body!r}, but of what does not exist {unknown.body!r}"]


def _without_ids(answer: Answer, ids: Ids) -> tuple[object, ...]:
    def without(text: str) -> str:
        for each in sorted(set(ids), key=len, reverse=True):
            text = text.replace(each, "<id>")
        return text

    skipped = ("x-request-id", "content-length")
    headers = sorted((name.lower(), without(value)) for name, value in answer.headers if name.lower() not in skipped)
    return answer.status, without(answer.body.decode()), headers


# --- printing -------------------------------------------------------------------------------------------------


def tables(found: Matrix) -> str:
    """Callers, kinds of routes, what every route really answered, `!` where unexpected, and the count, as Markdown."""
    names = list(table().callers)
    head = f" | {' | '.join(names)} |\n|---|{'---|' * len(names)}\n"
    meanings = "\n".join(f"- **{name}**: {meaning}" for name, meaning in table().callers.items())
    kinds = [f"| {kind} | {' | '.join(cells[name] for name in names)} |" for kind, cells in table().kinds.items()]
    status = {(each.row, each.caller): f"{each.status}{'!' * bool(each.faults)}" for each in found.cells}
    routes = [f"| `{row.name}` | {' | '.join(status[row, name] for name in names)} |" for row in rows()]
    count = f"{len(rows())} rows, {len(names)} columns, {len(found.cells)} cells, {len(found.faults)} not as expected."
    return "\n\n".join((meanings, f"|{head}" + "\n".join(kinds), f"| route{head}" + "\n".join(routes), count))
