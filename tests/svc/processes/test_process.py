"""The promises of the first page, on the real program: real sockets, real SQLite, real kill -9."""

import gzip
import json
import os
import socket
import sqlite3
import ssl
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from itertools import cycle
from pathlib import Path
from threading import Event
from typing import Any
from uuid import UUID

import httpx
import msgspec
import pytest
import trio
from click.testing import CliRunner

from svc.cli import main
from tests.support.catalogs import document, lookup
from tests.support.driver import Driver
from tests.support.event_streams import Stream
from tests.support.household import tables_of
from tests.support.listening import self_signed
from tests.support.otlp import claude, logs
from tests.support.process import Server, beside, init, serving, svc

pytestmark = pytest.mark.process

SECRET = "sk-ant-api03-" + "Zq7" * 20
WORDS = "the quick heron rewrites the harbour ledger"


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    with serving(tmp_path / "var", init(tmp_path / "var")["key"]) as made:
        yield made


def test_kill_9_in_the_middle_of_a_load_loses_nothing_acknowledged(tmp_path: Path) -> None:
    """Every acknowledged capture is there once, none half, and a replay gives the same tables."""
    var = tmp_path / "var"
    made = init(var)
    acknowledged: list[int] = []
    with serving(var, made["key"]) as server:

        def send(number: int) -> None:
            try:
                answer = server.capture(number)
            except httpx.TransportError:
                return
            if answer.status_code == 201:
                acknowledged.append(number)
            if len(acknowledged) == 300:
                server.process.kill()

        with ThreadPoolExecutor(8) as pool:
            list(pool.map(send, range(1, 1001)))
        server.kill()
    assert len(acknowledged) >= 300
    with serving(var, made["key"]) as server:
        repeated = [server.capture(number) for number in acknowledged]
        assert {answer.status_code for answer in repeated} == {200}
        assert server.stop() == 0
    with closing(sqlite3.connect(var / "events.db")) as log:
        versions = "SELECT 1 FROM stored_events GROUP BY originator_id, originator_version HAVING count(*) > 1"
        doubled = f"SELECT count(*) FROM ({versions})"
        assert log.execute(doubled).fetchone() == (0,)
    checked = msgspec.json.decode(svc("replay", "--var", var, "--check", "--json").stdout)
    assert (checked["identical"], checked["failed"]) == (True, 0)


def test_a_replay_under_a_running_server_serves_the_same_scores(server: Server) -> None:
    """The pointer moves to a new file; reads before and after answer alike, captures go on."""
    var = server.var
    for number in range(1, 20):
        server.capture(number)
    before = server.goals()
    old = (var / "views.current").read_text()
    svc("replay", "--var", var)
    children = [path.read_text() for path in Path(f"/proc/{server.pid}/task").glob("*/children")]
    assert not any(children), "a server is one process"
    assert (var / "views.current").read_text() != old
    assert server.goals() == before
    assert server.capture(20).status_code == 201
    assert not (var / old.strip()).exists()


def test_no_secret_and_no_text_lies_in_any_file(server: Server) -> None:
    """A planted secret is in no file at all; a prompt's words are sealed wherever they stand."""
    text = f"{WORDS}, and my key is {SECRET}"
    event = {"prompt_text": text, "tool_session_id": "s1", "cwd": f"/home/{WORDS}", "metadata": {"note": WORDS}}
    prompt_id = server.intake.post("/v1/prompts", json=event).json()["id"]
    answer = {"prompt_id": prompt_id, "response_operation_id": "op", "response_text": f"I saw {SECRET}: {WORDS}"}
    assert server.intake.post("/v1/prompts/response", json=answer).status_code == 204
    row = server.goals()[0]
    assert "heron" in row["title"]
    patched = server.api.patch(f"/v1/score_v3/sub-sessions/{row['sub_session_id']}", json={"title": f"My {WORDS}"})
    assert patched.json()["title_source"] == "user_edited"
    server.stop()
    searched = [path for path in server.var.rglob("*") if path.is_file()]
    content = b"".join(path.read_bytes() for path in searched) + beside(server.var, "log").read_bytes()
    assert len(searched) >= 4
    assert SECRET.encode() not in content
    assert b"heron" not in content
    assert str(server.key).encode() not in content


def test_the_store_unwritable_is_503_and_recovers_without_a_restart(server: Server) -> None:
    """While another process locks the log for writing, captures are refused; once it lets go, they are taken."""
    assert server.capture(1).status_code == 201
    with closing(sqlite3.connect(server.var / "events.db", isolation_level=None)) as locker:
        locker.execute("BEGIN EXCLUSIVE")
        with ThreadPoolExecutor(1) as pool:
            asked = pool.submit(server.intake.get, "/health")
            refused, health = server.capture(2), asked.result()
        assert (refused.status_code, refused.headers["Retry-After"]) == (503, "5")
        assert (health.status_code, health.text) == (503, "event store unavailable")
        assert "Retry-After" not in health.headers
        locker.execute("ROLLBACK")
    assert server.capture(3).status_code == 201
    assert server.intake.get("/health").text == "ok"


AUGUST = ("--from", "2026-08-01", "--to", "2026-08-31")


def backfilled(var: Path, *more: str) -> list[dict[str, Any]]:
    """What the command says as JSON, once it is done."""
    found: list[dict[str, Any]] = json.loads(svc("backfill", "--var", var, *AUGUST, "--json", *more).stdout)
    return found


def test_by_command_and_by_key_with_and_without_a_server(tmp_path: Path) -> None:
    """Each judges what there is again, and says how much that was."""
    var = tmp_path / "var"
    made = init(var)
    with serving(var, made["key"]) as server:
        prompt = {"prompt_text": "Fix src/a.py", "tool_session_id": "s1", "submitted_at": "2026-08-03T09:00:00Z"}
        assert server.intake.post("/v1/prompts", json=prompt).status_code == 201
        assert len(server.api.get("/v1/score_v3/realtime/sub-sessions").json()) == 1
        (through_server,) = backfilled(var)
        asked = {"from": "2026-08-01", "to": "2026-08-31"}
        by_key = server.api.post("/v1/score_v3/admin/backfill", json=asked)
        assert (by_key.status_code, by_key.json().keys()) == (202, {"backfill_id"})
        assert server.stop() == 0
    (alone,) = backfilled(var, "--organization", made["organization_id"])
    for each in (through_server, alone):
        assert (each["status"], each["sub_sessions"], each["done"]) == ("completed", 1, 1)
    refused = svc("backfill", "--var", var, "--from", "x", "--to", "2026-08-31", check=False)
    assert refused.returncode == 1
    assert "from must be" in refused.stderr


PATH = "/v1/score_v3/events"
WAIT_SECONDS = 10.0


async def _followed(api: httpx.AsyncClient, stream: Stream) -> None:
    async with api.stream("GET", PATH) as answer:
        assert (answer.http_version, answer.status_code) == ("HTTP/2", 200)
        async for data in answer.aiter_bytes():
            stream.feed(data)


def silent(port: int, context: ssl.SSLContext, key: str) -> socket.socket:
    """A client that asks for events and never reads."""
    plain = socket.socket()
    plain.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    plain.connect(("127.0.0.1", port))
    client = context.wrap_socket(plain, server_hostname="127.0.0.1")
    client.sendall(f"GET {PATH} HTTP/1.1\r\nHost: svc\r\nX-API-Key: {key}\r\n\r\n".encode())
    return client


async def test_events_over_http_2_beside_a_client_that_never_reads_them(tmp_path: Path) -> None:
    """A stream shares its connection with other requests; a stop ends both, and takes no five seconds."""
    certificate, key = self_signed(tmp_path)
    context = ssl.create_default_context(cafile=str(certificate))
    stream, made = Stream(), init(tmp_path / "var")
    options: dict[str, Any] = {"headers": {"X-API-Key": made["key"]}, "verify": context}
    with serving(tmp_path / "var", None, "--tls-certificate", str(certificate), "--tls-key", str(key)) as server:
        stuck = silent(server.api_port, context, made["key"])
        async with (
            httpx.AsyncClient(base_url=server.api_url, http2=True, timeout=30, **options) as api,
            httpx.AsyncClient(base_url=server.intake_url, **options) as intake,
            trio.open_nursery() as nursery,
        ):
            nursery.start_soon(_followed, api, stream)
            with trio.fail_after(WAIT_SECONDS):
                while not stream.last_id:
                    assert (await api.get("/v1/score_v3/realtime/sub-sessions")).json() == []
                for number in range(40):
                    prompt = {"prompt_text": "Fix the crash in src/parser.py", "tool_session_id": f"s{number}"}
                    assert (await intake.post("/v1/prompts", json=prompt)).status_code == 201
                while not stream.told:
                    assert (await api.get("/v1/score_v3/score")).status_code == 200
            assert await trio.to_thread.run_sync(server.stop) == 0
        stuck.close()


GZIP = {"Content-Type": "application/json", "Content-Encoding": "gzip"}
RECORDS = 7_000
WAIT_SECONDS_MAX = 2.0
"""Measured are some 50 ms; a busy machine may take longer, but not as long as the export."""
PEAK_MIB_MAX = 500


def export() -> bytes:
    """Some 14 MiB of one session."""
    records = [claude("api_request", {"filler": "x" * 1_500, "input_tokens": 1, "n": n}) for n in range(RECORDS)]
    return msgspec.json.encode(logs(*records))


def prompts(server: Server, until: Event) -> list[float]:
    """One prompt after the other, over a connection of their own; how long each took."""
    took: list[float] = []
    with Driver(server.intake_port, server.key) as driver:
        while not until.is_set():
            event = {"prompt_text": "Fix it", "tool_session_id": "s2", "client_event_id": str(UUID(int=len(took)))}
            took.append(driver.ask("POST", "/v1/prompts", event).ms / 1_000)
    return took


def test_a_large_export_is_taken_while_prompts_go_on(server: Server) -> None:
    """Every record is counted once, whether it was sent once or twice, and memory stays within bounds."""
    done = Event()
    with ThreadPoolExecutor() as pool:
        alongside = pool.submit(prompts, server, done)
        try:
            answers = [server.intake.post("/v1/logs", content=gzip.compress(export(), 1), headers=GZIP) for _ in "ab"]
        finally:
            done.set()
        took = alongside.result()
    assert [(answer.status_code, answer.text) for answer in answers] == [(200, "{}"), (200, "{}")]
    bomb = gzip.compress(bytes(256 * 1024 * 1024), 1)
    assert server.intake.post("/v1/logs", content=bomb, headers=GZIP).status_code == 413
    assert server.mib("VmHWM") < PEAK_MIB_MAX
    assert took
    assert max(took) < WAIT_SECONDS_MAX


def prices(path: Path, *names: str) -> Path:
    """A file that lists models of these names."""
    path.write_bytes(msgspec.json.encode(document(*map(lookup, names))))
    return path


@pytest.fixture(autouse=True)
def alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Commands run in this very process, a second faster, without the settings of whoever tests."""
    monkeypatch.chdir(tmp_path)
    for name in [name for name in os.environ if name.startswith("SVC_")]:
        monkeypatch.delenv(name)


def said(*arguments: str | Path) -> str:
    """A command that must succeed; what it prints."""
    result = CliRunner().invoke(main, ["catalog", *map(str, arguments)])
    assert result.exit_code == 0, result.output
    return result.stdout


def catalog(*arguments: str | Path) -> Any:
    """The same, as JSON."""
    return json.loads(said(*arguments, "--json"))


def refused(*arguments: str | Path) -> str:
    """A command that must fail; its one sentence."""
    result = CliRunner().invoke(main, ["catalog", *map(str, arguments)])
    assert result.exit_code == 1, result.output
    assert isinstance(result.exception, SystemExit), result.exception
    return result.stderr


def asked(server: Server, var: Path) -> dict[str, Any]:
    """The catalog as an internal service gets it."""
    secret = (var / "internal-secret").read_text().strip()
    answer = httpx.get(f"{server.api_url}/v1/model-catalog", headers={"X-Internal-Secret": secret})
    found: dict[str, Any] = answer.json()
    return found


def test_every_revision_outlives_the_process(tmp_path: Path) -> None:
    """Published by a refresh through the running server, served after kill -9, and again by commands alone."""
    var, file = tmp_path / "var", prices(tmp_path / "prices.json", "a")
    key = init(var)["key"]
    at = ("--var", var)
    with serving(var, key, "--catalog", str(file)) as server:
        assert server.api.get("/health/ready").json() == {"status": "ok"}
        assert server.intake.get("/v1/model-catalog").json()["catalog_revision"] == 2, "1 was installed by init"
        prices(file, "a", "b")
        assert [catalog("refresh", *at)["changed"] for _ in range(2)] == [True, False]
        first = asked(server, var)
        assert [each["external_model_id"] for each in first["exact_lookups"]] == ["a", "b"]
        assert "external_model_id" in refused("publish", prices(tmp_path / "twice.json", "a", "a"), *at)
        file.unlink()
        assert "No such file" in refused("refresh", *at)
        assert asked(server, var)["stale"] is True
        server.kill()
    with serving(var, key, "--catalog", str(prices(file, "a", "b"))) as server:
        again = asked(server, var)
        assert again["checksum_sha256"] == first["checksum_sha256"]
        assert again["stale"] is False
        (order,) = catalog("reprice", "--from", "2026-01-01", *at)
        assert order["catalog_revision"] == 3
        assert server.stop() == 0
    assert [each["catalog_revision"] for each in catalog("list", *at)] == [3, 2, 1]
    assert catalog("publish", prices(tmp_path / "third.json", "c"), *at)["catalog_revision"] == 4
    assert catalog("show", *at)["exact_lookups"][0]["external_model_id"] == "c"
    assert len(catalog("reprice", "--from", "2026-01-01", "--to", "2026-02-01", *at)) == 1


def test_a_person_can_look_prices_up(tmp_path: Path) -> None:
    """By the id as an agent writes it; what is not listed is said to have no price."""
    var = tmp_path / "var"
    init(var)
    shown = said("show", "claude-opus-4-6[1m]", "--var", var)
    assert "200,000" in shown
    assert "37.5" in shown
    entry = catalog("show", "us.anthropic.claude-sonnet-4-5-20250929-v1:0", "--var", var)
    assert entry["provider"] == {"status": "observed", "provider": "aws"}
    assert "genai-prices" in said("list", "--var", var)
    assert "ids" in said("show", "--var", var)
    assert "its requests have no price" in refused("show", "nobody", "--var", var)
    assert "from" in refused("reprice", "--from", "once", "--var", var)
    assert "No such file" in refused("publish", tmp_path / "none.json", "--var", var)


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
