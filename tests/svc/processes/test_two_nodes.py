"""Two nodes of the real program over one PostgreSQL: one log, one set of people, the same scores."""

from collections.abc import Iterator
from itertools import cycle
from pathlib import Path
from typing import Any

import httpx
import msgspec
import pytest

from tests.support.household import tables_of
from tests.support.process import Server, serving, svc

pytestmark = pytest.mark.process
POSITION = "X-Svc-Position"


@pytest.fixture
def told(shared_store: str, tmp_path: Path) -> dict[str, str]:
    return {"SVC_STORE": shared_store, "SVC_MASTER_KEY_FILE": str(tmp_path / "master.key")}


@pytest.fixture
def made(told: dict[str, str], tmp_path: Path) -> dict[str, Any]:
    """The store is set up by the first node, which also makes the master key."""
    found: dict[str, Any] = msgspec.json.decode(svc("init", "--var", tmp_path / "a", "--json", told=told).stdout)
    return found


@pytest.fixture
def nodes(made: dict[str, Any], told: dict[str, str], tmp_path: Path) -> Iterator[tuple[Server, Server]]:
    with (
        serving(tmp_path / "a", made["key"], told=told) as first,
        serving(tmp_path / "b", made["key"], told=told) as second,
    ):
        yield first, second


def got(node: Server, path: str, position: str) -> list[dict[str, Any]]:
    """What a node answers whom another node told this position. A busy one may say 503, but never less than that."""
    for _ in range(60):
        answer = node.api.get(path, headers={POSITION: position})
        if answer.status_code != 503:
            found: list[dict[str, Any]] = answer.raise_for_status().json()
            return found
        assert answer.headers["Retry-After"]
    raise AssertionError("it was busy for two minutes")


def shown(node: Server, position: str) -> int:
    rows = got(node, "/v1/score_v3/realtime/sub-sessions", position)
    names = (row["score_v3_sub_session_id"] for row in rows)
    return sum(len(got(node, f"/v1/score_v3/sub-sessions/{name}/prompts", position)) for name in names)


def test_two_nodes_are_one_service(
    nodes: tuple[Server, Server], made: dict[str, Any], told: dict[str, str], tmp_path: Path
) -> None:
    """Who writes to one reads it from the other; a retry is known everywhere; a revoked key is refused everywhere."""
    first, second = nodes
    for number, (here, there) in zip(range(1, 7), cycle([(first, second), (second, first)]), strict=False):
        taken = here.capture(number)
        assert taken.status_code == 201
        assert shown(there, taken.headers[POSITION]) == number
        again = there.capture(number)
        assert (again.status_code, again.json()["id"]) == (200, taken.json()["id"])
    secrets = {(tmp_path / name / "internal-secret").read_text() for name in "ab"}
    assert len(secrets) == 1
    admin = {"X-Internal-Secret": secrets.pop().strip()}
    (key,) = httpx.get(f"{first.api_url}/v1/admin/keys", headers=admin).json()
    ended = httpx.delete(f"{first.api_url}/v1/admin/keys/{key['id']}", headers=admin)
    assert ended.is_success, ended.text
    asked = admin | {POSITION: ended.headers[POSITION]}
    httpx.get(f"{second.api_url}/v1/admin/keys", headers=asked).raise_for_status()
    assert second.capture(99).status_code == 401
    assert (first.stop(), second.stop()) == (0, 0)
    assert len({str(tables_of(tmp_path / name)) for name in "ab"}) == 1
    assert svc("verify", "--var", tmp_path / "b", told=told).returncode == 0
