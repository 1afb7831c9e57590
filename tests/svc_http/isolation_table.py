"""Who gets what from which route: the contract's words on keys and people, as two tables to read.

Rows come from the contract (its listeners, its keys and people, its statuses), never from what the program does.
"""

import re
from functools import cache
from pathlib import Path
from typing import NamedTuple

CALLERS = """
none        no credential at all
malformed   what is no key of this service
unknown     a well-formed key that nobody was given
revoked     a key of the developer themself that was revoked
former      the key of somebody who was in the organization and in the team
wrong       the internal secret with one character changed, on the developer's behalf
secret      the internal secret, on nobody's behalf
colleague   the key of another member of the organization, in no team
stranger    the key of the owner of another organization
owner       the key of the owner of the developer's organization, not in the team
delegated   the internal secret, on the developer's behalf
themself    the developer's own key
operator    no key, but the browser that `svc open --operator` opened where the server runs
"""
"""Column → who that is. Whatever is asked for belongs to the developer.

Whoever has, or had, a key has the cookie of a sign-in by it as well, which alone opens pages; 303 without one leads to
the sign-in.
"""

EXPECTED = """
kind of route                none  malformed  unknown  revoked  former  wrong  secret  colleague  stranger  owner  delegated  themself  operator
public                       ok    ok         ok       ok       ok      ok     ok      ok         ok        ok     ok         ok        ok
intake, own data             401   401        401      401      401     401    401     ok         ok        ok     401        ok        401
intake, into a session       401   401        401      401      401     401    401     409*       409*      409*   401        ok        401
intake, onto a prompt        401   401        401      401      401     401    401     404        404       404    401        ok        401
intake, export of a session  401   401        401      401      401     401    401     none*      none*     none*  401        ok        401
API, own data                401   401        401      401      401     401    403     ok         ok        ok     ok         ok        401
API, a thing of one's own    401   401        401      401      401     401    403     404        404       404    ok         ok        401
API, an override             401   401        401      401      401     401    403     400        400       400    ok         ok        401
API, a team's                401   401        401      401      401     401    403     404        404       404    ok         ok        401
API, an owner's              401   401        401      401      401     401    403     403        404       ok     403        403       401
pages, before a sign-in      ok    ok         ok       ok       ok      ok     ok      ok         ok        ok     ok         ok        ok
pages, the way in            401   401        401      401      401     401    401     401        401       401    401        401       401
pages, a link that is gone   410   410        410      410      410     410    410     410        410       410    410        410       410
pages, from elsewhere        403   403        403      403      403     403    403     403        403       403    403        403       403
pages, own data              303   303        303      303      303     303    303     ok         ok        ok     303        ok        303
pages, a team's             303   303        303      303      303     303    303     404        404       404    303        ok         303
pages, a thing of one's own  303   303        303      303      303     303    303     404        404       404    303        ok        303
pages, an owner's            303   303        303      303      303     303    303     403        ok        ok     303        403       ok
pages, a thing of an owner's 303   303        303      303      303     303    303     403        404       ok     303        403       ok
pages, an owner's link       303   303        303      303      303     303    303     403        404       409    303        403       ok
pages, the operator's        303   303        303      303      303     303    303     403        403       403    303        403       ok
pages, an override           303   303        303      303      303     303    303     400        400       400    303        ok        303
API, administration          401   401        401      401      401     401    ok      403        403       403    403        403       401
"""  # noqa: E501
"""Kind of route → status, by caller.

`ok`: the status of the route below, and with `own data` the caller's own and nothing of the developer's. `*`: all that
is stored is a flag for the caller. `none`: 200, and all of the export, or import, is rejected. Everything but `ok` and
`*` stores nothing, and says of a thing that is another's exactly what it says of one that does not exist.
"""


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


class Wanted(NamedTuple):
    status: int
    let_in: bool
    """Whether the request is carried out."""
    flagged: bool
    """Whether a flag for the caller is stored, and nothing else."""


def callers() -> dict[str, str]:
    lines = (line.split(maxsplit=1) for line in CALLERS.strip().splitlines())
    return {name: meaning for name, meaning in lines}


@cache
def rows() -> tuple[Row, ...]:
    """Every route, by `tests/routes.txt`."""
    found, kind = list[Row](), ""
    for line in (Path(__file__).parents[1] / "routes.txt").read_text(encoding="utf-8").splitlines():
        if line.startswith("  "):
            listener, method, path, ok, *sent = line.split(maxsplit=4)
            about = re.findall("<(.*)>", path)
            plain = re.sub("<.*>", "<id>", path)
            found.append(Row(kind, listener, method, plain, int(ok), "".join(about), "".join(sent)))
        else:
            kind = line
    return tuple(found)


def expected() -> dict[str, dict[str, str]]:
    """Kind of route → caller → the cell as it is written."""
    head, *lines = EXPECTED.strip().splitlines()
    width = head.index(" none ")
    names = head[width:].split()
    assert names == list(callers()), "both tables have the same columns"
    return {line[:width].strip(): dict(zip(names, line[width:].split(), strict=True)) for line in lines}


def wanted(row: Row, cell: str) -> Wanted:
    bare = cell.removesuffix("*")
    status = row.ok if bare == "ok" else 200 if bare == "none" else int(bare)
    return Wanted(status, bare == "ok", cell.endswith("*"))
