"""Who gets what from which route: `tests/routes.txt`, the contract's words on keys and people, as values."""

import re
from functools import cache
from pathlib import Path
from typing import NamedTuple


class Row(NamedTuple):
    kind: str
    listener: str
    method: str
    path: str
    ok: int
    about: str  # the name of what stands for the id of its path; empty where there is none
    sent: str  # a query, JSON or a form

    @property
    def name(self) -> str:
        return f"{self.listener} {self.method} {self.path}"


class Table(NamedTuple):
    callers: dict[str, str]  # and who that is
    kinds: dict[str, dict[str, str]]  # the cell of each caller
    rows: list[Row]


class Wanted(NamedTuple):
    status: int
    let_in: bool  # whether the request is carried out
    flagged: bool  # whether a flag for the caller is stored, and nothing else


@cache
def table() -> Table:
    found, kind = Table({}, {}, []), ""
    for line in (Path(__file__).parents[1] / "routes.txt").read_text(encoding="utf-8").splitlines():
        if line.startswith("#"):
            continue
        if not line.startswith("  "):
            kind, *cells = re.split(" {2,}", line)
            if cells:
                found.kinds[kind] = dict(zip(found.callers, " ".join(cells).split(), strict=True))
        elif kind == "callers":
            name, meaning = line.split(maxsplit=1)
            found.callers[name] = meaning
        else:
            listener, method, path, ok, *sent = line.split(maxsplit=4)
            about, plain = "".join(re.findall("<(.*)>", path)), re.sub("<.*>", "<id>", path)
            found.rows.append(Row(kind, listener, method, plain, int(ok), about, "".join(sent)))
    return found


def rows() -> list[Row]:
    return table().rows


def wanted(row: Row, cell: str) -> Wanted:
    bare = cell.removesuffix("*")
    status = row.ok if bare == "ok" else 200 if bare == "none" else int(bare)
    return Wanted(status, bare == "ok", cell.endswith("*"))
