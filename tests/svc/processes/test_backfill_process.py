"""`svc backfill` as a person types it: on a folder that nobody holds, and through a running server."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.process import init, serving, svc

pytestmark = pytest.mark.process

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
