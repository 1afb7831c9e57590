"""Overrides on the real program: kept through a kill, and the same after a replay."""

from pathlib import Path

import pytest

from tests.support.process import init, serving, svc

pytestmark = pytest.mark.process

ROWS = "/v1/score_v3/realtime/sub-sessions"


def test_overrides_outlive_a_kill_and_a_replay(tmp_path: Path) -> None:
    """Split and merged, renamed and marked: the answer is on disk, and the log alone gives the same again."""
    var = tmp_path / "var"
    made = init(var)
    with serving(var, made["key"]) as server:
        for number, text in enumerate(("Fix the crash in src/parser.py", "and return a list there", "and test it")):
            event = {"prompt_text": text, "tool_session_id": "s1", "submitted_at": f"2026-08-01T09:0{number}:00Z"}
            assert server.intake.post("/v1/prompts", json=event).status_code == 201
        (row,) = server.api.get(ROWS).json()
        path = f"/v1/sub-sessions/{row['sub_session_id']}/override"
        for field, action, payload in (
            ("boundary", "split_at_turn", {"split_turn_idx": 2}),
            ("boundary", "split_at_turn", {"split_turn_idx": 1}),
            ("completion", "mark_complete", {}),
            ("label", "rename", {"new_label": "Mine"}),
        ):
            answer = server.api.post(path, json={"field": field, "action": action, "payload": payload})
            assert answer.status_code == 200, answer.text
        last = server.api.get(ROWS).json()[0]["sub_session_id"]
        merge = {"field": "boundary", "action": "merge_with_previous"}
        assert server.api.post(f"/v1/sub-sessions/{last}/override", json=merge).status_code == 200
        before = server.api.get(ROWS).json()
        assert [(row["turns"], row["title"]) for row in before][1] == (1, "Mine")
        server.kill()
    checked = svc("replay", "--check", "--var", var)
    assert checked.returncode == 0, checked.stderr
    with serving(var, made["key"]) as server:
        assert server.api.get(ROWS).json() == before
        assert server.stop() == 0
