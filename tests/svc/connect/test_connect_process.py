"""`svc connect` and `svc doctor` with the real program and a real server."""

from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.support.listening import closed
from tests.support.process import init, serving, svc

SETTINGS = '{\n  "model": "opus",\n  "env": {"EDITOR": "vi"}\n}\n'
SOUND = ["settings", "address", "hooks", "server", "clock", "key", "capture", "outbox"]


@pytest.mark.process
def test_doctor_sends_a_record_there_and_back(home: Path, tmp_path: Path) -> None:
    """It belongs to no session, so that no score knows it. A key or an address that is wrong changes nothing."""
    settings = home / ".claude/settings.json"
    settings.parent.mkdir()
    settings.write_text(SETTINGS)
    made = init(tmp_path / "var")

    def connected(url: str, *more: str, key: str = made["key"]) -> str:
        return svc("connect", "claude-code", "--url", url, "--key", key, *more, check=False).stderr

    def findings() -> Any:
        return msgspec.json.decode(svc("doctor", "--json", check=False).stdout)[0]["findings"]

    with serving(tmp_path / "var", made["key"]) as server:
        assert "unknown key" in connected(server.intake_url, key="svc_" + "x" * 43)
        assert "is the API of svc" in connected(server.api_url)
        assert (settings.read_text(), (home / ".config").exists()) == (SETTINGS, False)
        connected(server.api_url, "--offline")
        assert "intake" in svc("doctor", check=False).stdout
        assert connected(server.intake_url) == ""
        assert "key_configured" in svc("developer", "list", "--var", tmp_path / "var", "--json").stdout
        found = findings()
        assert [each["what"] for each in found if each["level"] == "ok"] == SOUND
        (none,) = [each for each in found if each["what"] == "arrived"]
        assert (none["level"], "nothing of claude-code has arrived" in none["text"]) == ("warning", True)
        assert server.api.get("/v1/score_v3/realtime/sub-sessions").json() == []
        told = {"prompt_text": "Hello there", "tool_session_id": "s"}
        assert server.intake.post("/v1/prompts", json=told).is_success
        assert server.intake.post("/v1/prompts", json=told | {"prompt_text": " "}).status_code == 400
        found = findings()
        (came,) = [each for each in found if each["what"] == "arrived"]
        assert (came["level"], came["text"][:22]) == ("ok", "prompts of claude-code")
        assert ["prompt_text is blank" in each["text"] for each in found if each["what"] == "refused"] == [True]
        connected(closed(), "--offline")
        done = svc("doctor", check=False)
        assert (done.returncode, "start svc serve there" in done.stdout) == (1, True)
