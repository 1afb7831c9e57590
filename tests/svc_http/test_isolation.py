"""Nobody gets at what is another's: every route of both listeners, asked for as everybody. `python -m tests.pages
doors` writes what is held here into `docs/generated/doors.md`."""

import re
from typing import Any

import pytest

from aggregates.event import Scope
from tests.pages import check, doors
from tests.support.basics import ACME, BEN
from tests.svc_http.house import House
from tests.svc_http.isolation import OTHERS, matrix
from tests.svc_http.isolation_world import HEADERS, World, rows, table


def test_both_listeners_serve_what_the_list_says() -> None:
    """Each route once, and nothing that the list does not know: whoever adds a route says who may call it."""
    served = [
        (listener, method, re.sub("<[^>]*>", "<id>", rule.rule))
        for listener, app in World().apps.items()
        for rule in app.url_map.iter_rules()
        for method in (rule.methods or set()) - {"HEAD"}
    ]
    assert sorted(row[1:4] for row in rows()) == sorted(served)


def test_the_tables_fit_each_other() -> None:
    """Every kind of route has routes, every caller has credentials."""
    assert {row.kind for row in rows()} == set(table().kinds)
    assert list(table().callers) == list(HEADERS)


async def test_every_cell_is_as_the_contract_says() -> None:
    """Its status; that a refusal stores nothing; that another's thing is answered about like one that does not exist;
    that no answer tells of the developer; that the developer themself gets in. The page shows what was seen."""
    found = await matrix()
    assert found.faults == []
    assert len(found.cells) == len(rows()) * len(table().callers)
    assert {kind for kind, routes in found.shown.items() if routes} >= {
        kind for kind in table().kinds if "data" in kind
    }
    check("doors", doors(found))


async def test_reads_of_anothers_would_be_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever is answered: an id or a word of somebody else's is enough, and so is a thing found by its id."""
    read = House.read

    async def careless(self: House, _scope: Scope, query: Any, /, *args: Any, **kwargs: Any) -> Any:
        return await read(self, Scope(ACME, BEN), query, *args, **kwargs)

    monkeypatch.setattr(House, "read", careless)
    faults = (await matrix({"intake, own data", "API, a thing of one's own"})).faults
    for caller in OTHERS:
        assert any(f"/v1/telemetry/logs, {caller}: it tells of" in each for each in faults)
        assert any(f"GET /v1/score_v3/report/<id>, {caller}: 200 instead of 404" in each for each in faults)
