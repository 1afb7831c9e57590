"""The alert rules and the dashboard in `deploy/` name metrics that a running server has."""

import json
import re
import shutil
import subprocess
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from tests.support.process import ROOT, init, serving

RULES = ROOT / "deploy" / "prometheus-rules.yml"
DASHBOARD = ROOT / "deploy" / "grafana-dashboard.json"
SUFFIXES = ("_total", "_bucket", "_count", "_sum")
OF_PROMETHEUS = {"up"}
NAME = re.compile(r"\b((?:svc|process)_[a-z_]+|up)\b(?![(])")


def asked(expression: str) -> set[str]:
    return set(NAME.findall(expression)) - OF_PROMETHEUS


def expressions() -> list[str]:
    panels: list[dict[str, Any]] = json.loads(DASHBOARD.read_text())["panels"]
    rules = re.findall(r"^ +expr: (.+)$", RULES.read_text(), re.MULTILINE)
    return [*rules, *(target["expr"] for panel in panels for target in panel["targets"])]


@pytest.fixture(scope="module")
def exposed(tmp_path_factory: pytest.TempPathFactory) -> set[str]:
    """The names of all that a server with backups exposes."""
    folder = tmp_path_factory.mktemp("alerts")
    key = init(folder / "var")["key"]
    (folder / "svc.toml").write_text("backup_every = 24\n")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        with serving(folder / "var", key) as server:
            server.intake.post("/v1/prompts", json={"prompt_text": "fix it", "tool_session_id": "s"})
            names = {each.name for each in text_string_to_metric_families(server.api.get("/metrics").text)}
    return names | {name + suffix for name in names for suffix in SUFFIXES}


@pytest.mark.process
@pytest.mark.one_folder("backups of the folder are on")
def test_rules_and_panels_name_metrics_that_there_are(exposed: set[str]) -> None:
    """A metric that was renamed would leave an alert that never fires."""
    wanted = {name for expression in expressions() for name in asked(expression)}
    assert len(wanted) > 15
    assert wanted - exposed == set()


def test_every_rule_says_how_bad_it_is_and_what_to_do() -> None:
    parts = re.split(r"^ +- alert: ", RULES.read_text(), flags=re.MULTILINE)[1:]
    assert len(parts) >= 10
    for part in parts:
        assert re.search(r"severity: (critical|warning|info)", part), part
        assert "summary: " in part
        assert "description: " in part


@pytest.mark.skipif(shutil.which("promtool") is None, reason="promtool is not installed")
def test_prometheus_takes_the_rules() -> None:
    """By its own tool."""
    subprocess.run(["promtool", "check", "rules", str(RULES)], check=True, capture_output=True)
