"""From `svc connect` to a prompt in the scores, with the real program and a real server."""

import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import msgspec
import pytest

from tests.support import process
from tests.support.intakes import closed
from tests.support.process import Server, init, serving

pytestmark = pytest.mark.process

SETTINGS = '{\n  "model": "opus",\n  "env": {"EDITOR": "vi"}\n}\n'


@pytest.fixture(autouse=True)
def settled(home: Path) -> None:
    (home / ".claude").mkdir()
    (home / ".claude/settings.json").write_text(SETTINGS)


@pytest.fixture(scope="module")
def var(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("server") / "var"
    init(folder)
    return folder


@pytest.fixture(scope="module")
def server(var: Path) -> Iterator[Server]:
    with serving(var) as running:
        yield running


@pytest.fixture(scope="module")
def admin(server: Server, var: Path) -> Iterator[httpx.Client]:
    secret = (var / "internal-secret").read_text().strip()
    with httpx.Client(base_url=server.api_url, headers={"X-Internal-Secret": secret}) as client:
        yield client


@pytest.fixture
def key(server: Server, admin: httpx.Client) -> str:
    """Of a developer whom nobody knows yet; the server's clients are theirs."""

    def made(what: str, **body: str) -> Any:
        answer = admin.post(f"/v1/admin/{what}", json=body)
        assert answer.status_code == 201, answer.text
        return answer.json()

    organization = admin.get("/v1/admin/organizations").json()[0]["id"]
    developer = made("developers", display_name="Ana")["id"]
    made("memberships", organization_id=organization, developer_id=developer)
    own: str = made("keys", organization_id=organization, developer_id=developer)["key"]
    for client in (server.intake, server.api):
        client.headers["Authorization"] = f"Bearer {own}"
    return own


def svc(*arguments: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
    return process.svc(*arguments, check=False, stdin=stdin)


def test_a_key_that_the_server_refuses_changes_nothing(home: Path, server: Server) -> None:
    done = svc("connect", "claude-code", "--url", server.intake_url, "--key", "svc_" + "x" * 43)
    assert (done.returncode, "unknown key" in done.stderr) == (1, True)
    assert (home / ".claude/settings.json").read_text() == SETTINGS
    assert not (home / ".config").exists()


@pytest.mark.one_folder("what was refused lately is told by the node that refused it")
def test_doctor_sends_a_record_there_and_back(home: Path, server: Server, admin: httpx.Client, key: str) -> None:
    """It belongs to no session, so that no score knows it."""
    svc("connect", "claude-code", "--url", server.intake_url, "--key", key)
    assert admin.get("/v1/admin/developers?limit=500").json()[-1]["activation"] == "key_configured"
    done = svc("doctor", "--json")
    assert server.api.get("/v1/score_v3/realtime/sub-sessions").json() == []
    findings = msgspec.json.decode(done.stdout)[0]["findings"]
    assert done.returncode == 0
    assert [each["what"] for each in findings if each["level"] == "ok"] == [
        "settings",
        "address",
        "hooks",
        "server",
        "clock",
        "key",
        "capture",
        "outbox",
    ]
    (none,) = [each for each in findings if each["what"] == "arrived"]
    assert (none["level"], "nothing of claude-code has arrived" in none["text"]) == ("warning", True)
    assert server.intake.post("/v1/prompts", json={"prompt_text": "Hello there", "tool_session_id": "s"}).is_success
    assert server.intake.post("/v1/prompts", json={"prompt_text": " ", "tool_session_id": "s"}).status_code == 400
    findings = msgspec.json.decode(svc("doctor", "--json").stdout)[0]["findings"]
    (came,) = [each for each in findings if each["what"] == "arrived"]
    assert (came["level"], came["text"][:22]) == ("ok", "prompts of claude-code")
    assert ["prompt_text is blank" in each["text"] for each in findings if each["what"] == "refused"] == [True]
    svc("connect", "claude-code", "--url", closed(), "--key", key, "--offline")
    done = svc("doctor")
    assert (done.returncode, "start svc serve there" in done.stdout) == (1, True)


def test_doctor_tells_an_api_from_an_intake(home: Path, server: Server, key: str) -> None:
    done = svc("connect", "claude-code", "--url", server.api_url, "--key", key)
    assert done.returncode == 1
    assert (home / ".claude/settings.json").read_text() == SETTINGS
    svc("connect", "claude-code", "--url", server.api_url, "--key", key, "--offline")
    done = svc("doctor")
    assert (done.returncode, "intake" in done.stdout) == (1, True)
