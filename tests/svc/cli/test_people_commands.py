"""`svc org`, `developer`, `member`, `team`, `key` and `status`, on a folder and through a running server."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import httpx
import pytest
from click.testing import CliRunner

from svc.cli import main
from tests.support.process import init, serving

Svc = Callable[..., Any]


def commands(var: Path) -> Svc:
    """Types a command; what it printed as JSON, or what it says on standard error."""

    def svc(*arguments: str) -> Any:
        result = CliRunner().invoke(main, [*arguments, "--var", str(var)])
        assert result.exit_code == 0, result.output
        return json.loads(result.stdout) if "--json" in arguments else result.stderr

    return svc


def refused(var: Path, *arguments: str) -> str:
    """The one sentence of a command that cannot be carried out."""
    result = CliRunner().invoke(main, [*arguments, "--var", str(var)])
    assert (result.exit_code, result.stdout) == (1, "")
    assert "Traceback" not in result.stderr
    return result.stderr


def look_after_people(svc: Svc) -> str:
    """Everything that can be done about people, from a developer's entry to their leave; a key that was made."""
    (organization,) = svc("org", "list", "--json")
    made = svc("developer", "create", "Kim", "--timezone", "Asia/Seoul", "--report", "weekly", "--json")
    assert (made["timezone"], made["report_schedules"]) == ("Asia/Seoul", ["weekly"])
    assert svc("developer", "set", "Kim", "--language", "ko", "--no-reports", "--json")["report_schedules"] == []
    assert [each["activation"] for each in svc("developer", "list", "--json")] == ["waiting", "waiting"]
    assert svc("developer", "set", "Kim", "--notice", "email", "--json")["report_notices"] == ["email"]
    assert svc("developer", "set", "Kim", "--no-notices", "--json")["report_notices"] == []
    assert svc("member", "set", "Kim", "--role", "owner", "--json")["role"] == "owner"
    assert [each["role"] for each in svc("member", "list", "--json")] == ["owner", "owner"]
    changed = svc("org", "set", "--retention-days-text", "30", "--no-text-leaves", "--json")
    assert (changed["retention_days_text"], changed["text_leaves"], changed["redaction"]) == (30, False, True)
    assert svc("org", "set", "My team", "--retention-days-text", "forever", "--json")["retention_days_text"] is None
    team = svc("team", "create", "Core", "--json")
    assert team["organization_id"] == organization["id"]
    assert svc("team", "add", "Core", "Kim", "--json")["developer_id"] == made["id"]
    assert [each["active"] for each in svc("team", "members", team["id"], "--json")] == [True]
    svc("team", "remove", "Core", "Kim")
    assert [each["active"] for each in svc("team", "members", "Core", "--json")] == [False]
    svc("team", "end", "Core")
    assert [each["active"] for each in svc("team", "list", "--json")] == [False]
    issued = svc("key", "issue", "--developer", "Kim", "--prefix", "gck", "--expires", "2099-01-01", "--json")
    assert issued["key"].startswith("gck_")
    assert issued["record"]["expires_at"] == "2099-01-01T00:00:00Z"
    assert svc("key", "list", "--developer", "Kim", "--json") == [issued["record"]]
    return str(issued["key"])


@pytest.mark.process
def test_people_on_a_folder_that_no_server_holds(tmp_path: Path) -> None:
    """A second of one name only on purpose: afterwards naming by name fails for both. Every act is told from the oldest
    on. A warning that tables are built anew is told beside the JSON that a script reads."""
    var = tmp_path / "var"
    init(var)
    svc = commands(var)
    said = refused(var, "developer", "create", "owner")
    assert ("Owner (" in said, "--same-name" in said) == (True, True)
    assert svc("developer", "create", "owner", "--same-name", "--json")["display_name"] == "owner"
    (var / "views.current").unlink()
    result = CliRunner().invoke(main, ["developer", "list", "--json", "--var", str(var)])
    assert [each["display_name"] for each in json.loads(result.stdout)] == ["Owner", "owner"]
    assert "the views are built anew from the log" in result.stderr
    shown = CliRunner().invoke(main, ["key", "list", "--var", str(var)], env={"COLUMNS": "200"}).stdout
    assert "│ Owner" in shown
    told = CliRunner().invoke(main, ["audit", "--var", str(var)])
    assert told.exit_code == 0, told.output
    found = [json.loads(line) for line in told.stdout.splitlines()]
    assert [each["topic"] for each in found if each["about"] == "owner"] == ["developer.created", "membership.started"]
    assert found[0]["topic"] == "organization.created"
    assert {each["by"] for each in found} == {"operator"}
    table = CliRunner().invoke(main, ["audit", "--format", "csv", "--var", str(var)])
    assert table.stdout.startswith("position,at,by,")
    assert len(table.stdout.splitlines()) == len(found) + 1
    status = svc("status", "--json")
    assert (status["state"], status["intake"], status["uptime_seconds"]) == ("stopped", None, None)


@pytest.mark.process
def test_people_through_a_running_server(tmp_path: Path) -> None:
    """What is done holds from the very next request on, and the status tells of it. A key that exists is brought from
    standard input, and printed nowhere."""
    var = tmp_path / "var"
    made = init(var)
    svc = commands(var)
    with serving(var, made["key"]) as server:
        key = look_after_people(svc)
        headers = {"X-API-Key": key}
        prompt = {"prompt_text": "Fix the crash in src/parser.py.", "tool_session_id": "s"}
        assert httpx.post(f"{server.intake_url}/v1/prompts", json=prompt, headers=headers).status_code == 201
        assert httpx.get(f"{server.api_url}/v1/score_v3/realtime/sub-sessions", headers=headers).status_code == 200
        found = svc("status", "--json")
        assert (found["state"], found["intake"], found["api"]) == ("serving", server.intake_url, server.api_url)
        assert found["log"]["events"]["prompt.captured"] == 1
        assert found["views"]["lag_events"] == 0
        assert [each["activation"] for each in found["developers"]] == ["waiting", "first_prompt"]
        assert all(found["disk_bytes"][part] > 0 for part in ("log", "views", "keys"))
        shown = CliRunner().invoke(main, ["status", "--var", str(var)], env={"COLUMNS": "120"}).stdout
        assert all(word in shown for word in ("serving", "lag events 0", "Kim", "prompt.captured", "revision"))
        (listed,) = svc("key", "list", "--developer", "Kim", "--json")
        assert "revoked" in svc("key", "revoke", listed["key_id"])
        assert "no longer a member" in svc("member", "remove", "Kim")
        assert svc("member", "add", "Kim", "--json")["active"] is True
        assert httpx.post(f"{server.intake_url}/v1/prompts", json=prompt, headers=headers).status_code == 401
        for arguments, told in REFUSED:
            assert told in refused(var, *arguments)
        brought = "gck_" + "k" * 43
        importing = ["key", "import", "--developer", "Owner", "--name", "old", "--var", str(var)]
        done = CliRunner().invoke(main, importing, input=f"{brought}\n")
        assert (done.exit_code, brought in done.output) == (0, False), done.output
        path = f"{server.api_url}/v1/score_v3/score"
        assert httpx.get(path, headers={"X-API-Key": brought}).status_code == 200
        for typed, told in ((brought, "issued before"), ("sk-123", "Error: this is no key")):
            again = CliRunner().invoke(main, importing, input=f"{typed}\n")
            assert (again.exit_code, told in again.output) == (1, True)


REFUSED: tuple[tuple[tuple[str, ...], str], ...] = (
    (("developer", "set", "Nobody", "--language", "en"), "svc developer list"),
    (("developer", "set", "Kim", "--timezone", "Mars/Base"), "time zone"),
    (("key", "issue"), "say which one"),
    (("key", "issue", "--developer", "Kim", "--expires", "yesterday"), "expires_at"),
    (("key", "revoke", "00000000-0000-4000-8000-000000000000"), "no key"),
    (("org", "set", "Other", "--name", "x"), "svc org list"),
    (("org", "create", " "), "name"),
    (("org", "create", "a\udcff"), "UTF-8"),  # as the system hands over a byte that is none
    (("member", "add", "Kim"), "already"),
    (("team", "add", "Core", "Kim"), "team"),
    (("team", "remove", "Core", "Kim"), "team"),
)
"""What cannot be done, and a word of the sentence that says so."""


@pytest.mark.parametrize("days", ["0", "-1", "soon", "36501"])
def test_a_retention_is_days_or_forever(days: str, tmp_path: Path) -> None:
    result = CliRunner().invoke(main, ["org", "set", "--retention-days-text", days, "--var", str(tmp_path)])
    assert result.exit_code == click.UsageError.exit_code
