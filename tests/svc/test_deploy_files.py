"""What `deploy/` says of the program is true of it: settings, ports, paths, metrics, versions."""

import json
import re
import runpy
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from prometheus_client.parser import text_string_to_metric_families

from svc import NEXT
from svc.cli import COMMANDS
from svc.process import MIB_BYTES
from svc.serving import STOP_SECONDS
from svc.settings import CONFIG_FILE, ENVIRONMENT_PREFIX, Settings
from svc_http.bodies import EXPORT_BYTES_MAX
from tests.support.process import ROOT, init, serving

DEPLOY = ROOT / "deploy"
FILES = sorted(path.name for path in DEPLOY.iterdir() if path.is_file())
SETTINGS = {ENVIRONMENT_PREFIX + name.upper() for name in Settings.__struct_fields__}
NO_SETTINGS = {"SVC_HOST"}
"""What the compose file asks of whoever calls it."""

INTAKE_PORT, API_PORT = (address.rpartition(":")[2] for address in (Settings().intake, Settings().api))


def text(name: str) -> str:
    lines = (DEPLOY / name).read_text().splitlines()
    return "\n".join(line for line in lines if not line.lstrip().startswith("#"))


def unit() -> dict[str, str]:
    """The unit's settings; of one that stands there twice the last."""
    return dict(line.split("=", 1) for line in text("svc.service").splitlines() if "=" in line)


def copied() -> list[str]:
    """What the container's build takes from the project's folder."""
    lines = [line.split()[1:-1] for line in text("Containerfile").splitlines() if line.startswith("COPY ")]
    return [source for line in lines for source in line if not line[0].startswith("--from")]


@pytest.mark.parametrize("name", FILES)
def test_a_setting_that_is_named_is_one(name: str) -> None:
    """In comments too: an operator takes them out."""
    named = set(re.findall(r"\bSVC_[A-Z_]+", (DEPLOY / name).read_text()))
    assert named - NO_SETTINGS - {"SVC_INTAKE"} <= SETTINGS


@pytest.mark.parametrize("name", FILES)
def test_a_port_that_is_named_is_where_svc_listens_by_itself(name: str) -> None:
    """Those of four digits that are no proxy's own."""
    ports = set(re.findall(r"(?<=:)\d{4}\b|(?<=EXPOSE )\d{4}|(?<= )[48]318\b", text(name)))
    assert ports <= {INTAKE_PORT, API_PORT}


def test_the_unit_and_the_container_call_a_command_there_is() -> None:
    """Everything else comes from settings, so no flag can go stale."""
    program, command = unit()["ExecStart"].split()
    assert (program, command in COMMANDS) == ("/opt/svc/.venv/bin/svc", True)
    assert 'ENTRYPOINT ["svc"]\nCMD ["serve"]' in text("Containerfile")


def test_the_data_lie_where_the_service_may_write() -> None:
    """The whole rest is read-only, and svc.toml is read from the working directory."""
    found = unit()
    assert found["Environment"] == f"SVC_VAR=/var/lib/{found['StateDirectory']}"
    assert found["WorkingDirectory"] == f"/etc/{found['ConfigurationDirectory']}"
    assert CONFIG_FILE in (DEPLOY / "svc.service").read_text()
    assert "SVC_VAR=/data" in text("Containerfile")
    assert "VOLUME /data" in text("Containerfile")
    assert "data:/data" in text("compose.yaml")


def test_nobody_kills_a_server_that_is_stopping() -> None:
    """It takes five seconds at most: the bound of the requests, and some for the last commit."""
    stop = STOP_SECONDS + 2
    assert stop < float(unit()["TimeoutStopSec"])
    assert stop < float(re.findall(r"stop_grace_period: (\d+)s", text("compose.yaml"))[0])
    assert unit()["KillMode"] == "mixed"
    assert "STOPSIGNAL SIGTERM" in text("Containerfile")


def test_the_container_is_built_from_what_is_there_and_every_package_is_in_it() -> None:
    """And what is not copied does not get into the build at all."""
    packages = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["hatch"]["build"]["targets"]["wheel"]
    let_in = {line[1:] for line in text("Containerfile.dockerignore").splitlines() if line.startswith("!")}
    assert {Path(each).parts[0] for each in packages["packages"]} < set(copied())
    assert set(copied()) == let_in
    assert all((ROOT / source).exists() for source in copied())


def test_the_check_of_health_asks_a_route_of_the_private_listener() -> None:
    """Without a key, and by the port that the same file sets."""
    port, path = re.findall(r"HTTPConnection\('127.0.0.1', (\d+).*?'GET', '([^']+)'", text("Containerfile"))[0]
    assert f"SVC_API=0.0.0.0:{port}" in text("Containerfile")
    assert f"api    GET    {path} 200" in (ROOT / "tests" / "routes.txt").read_text()


def test_the_proxy_lets_the_largest_export_through() -> None:
    """Its own bound is a sixteenth of it."""
    megabytes = int(re.findall(r"client_max_body_size (\d+)m;", text("nginx.conf"))[0])
    assert megabytes * MIB_BYTES >= EXPORT_BYTES_MAX
    assert "proxy_buffering off" in text("nginx.conf").partition("/v1/score_v3/events")[2]
    assert 'proxy_set_header X-Internal-Secret ""' in text("nginx.conf")


def built(folder: Path) -> str:
    found: str = runpy.run_path(str(folder / "deploy" / "version.py"))["version"]()
    return found


def git(folder: Path, *arguments: str) -> None:
    """As somebody, on no signature."""
    who = ("-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false")
    subprocess.run(["git", *who, *arguments], cwd=folder, check=True, capture_output=True)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("deploy/version.py", "svc/__init__.py"):
        (tmp_path / name).parent.mkdir()
        shutil.copyfile(ROOT / name, tmp_path / name)
    return tmp_path


def test_without_git_it_is_the_next_version_or_the_one_that_a_source_archive_tells(folder: Path) -> None:
    """As the source tree of an image has neither."""
    assert built(folder) == f"{NEXT}.dev0"
    (folder / "PKG-INFO").write_text("Metadata-Version: 2.4\nName: x\nVersion: 3.2.1\nSummary: y\n")
    assert built(folder) == "3.2.1"


def test_a_clone_counts_the_commits_since_the_tag(folder: Path) -> None:
    """Without any tag all of them; at a tag it is the tag's own."""
    git(folder, "init")
    git(folder, "add", ".")
    git(folder, "commit", "-m", "first")
    assert built(folder).startswith(f"{NEXT}.dev1+g")
    git(folder, "tag", "not-a-version")
    git(folder, "tag", "v0.9.0rc1")
    assert built(folder) == "0.9.0rc1"
    git(folder, "commit", "--allow-empty", "-m", "second")
    assert built(folder).startswith(f"{NEXT}.dev1+g")


RULES = ROOT / "deploy" / "prometheus-rules.yml"
DASHBOARD = ROOT / "deploy" / "grafana-dashboard.json"
SUFFIXES = ("_total", "_bucket", "_count", "_sum")
OF_PROMETHEUS = {"up"}
NAME = re.compile(r"\b((?:svc|process)_[a-z_]+|up)\b(?![(])")


@pytest.mark.process
def test_rules_and_panels_name_metrics_that_there_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A metric that was renamed would leave an alert that never fires."""
    key = init(tmp_path / "var")["key"]
    (tmp_path / "svc.toml").write_text("backup_every = 24\n")
    monkeypatch.chdir(tmp_path)
    with serving(tmp_path / "var", key) as server:
        server.capture(1).raise_for_status()
        names = {each.name for each in text_string_to_metric_families(server.api.get("/metrics").text)}
    panels: list[dict[str, Any]] = json.loads(DASHBOARD.read_text())["panels"]
    rules = re.findall(r"^ +expr: (.+)$", RULES.read_text(), re.MULTILINE)
    told = [*rules, *(target["expr"] for panel in panels for target in panel["targets"])]
    wanted = {name for expression in told for name in NAME.findall(expression)} - OF_PROMETHEUS
    assert len(wanted) > 15
    assert wanted - names - {name + suffix for name in names for suffix in SUFFIXES} == set()


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


def pinned(name: str) -> dict[str, str]:
    return dict(re.findall(r"^([a-z0-9._-]+)==([^ ;]+)", (ROOT / name).read_text(), re.MULTILINE))


def test_the_lock_files_hold_what_the_project_asks_for() -> None:
    """One version of each, with its hashes; `make lock` writes them."""
    told = tomllib.loads((ROOT / "pyproject.toml").read_text())
    extras = [each for extra in told["project"]["optional-dependencies"].values() for each in extra]
    runtime, tools = pinned("requirements.lock"), pinned("requirements-dev.lock")
    for lock, asked in (
        (runtime, [*told["project"]["dependencies"], *extras]),
        (tools, told["dependency-groups"]["dev"]),
        (pinned("requirements-build.lock"), told["build-system"]["requires"]),
    ):
        for wanted in map(Requirement, asked):
            assert wanted.specifier.contains(lock[wanted.name]), wanted
    assert runtime.items() <= tools.items()
    assert pinned("requirements-build.lock").items() <= tools.items()
    assert list(pinned("requirements-uv.lock")) == ["uv"]


def test_uv_is_told_of_the_indexes_that_pip_knows() -> None:
    """uv reads no setting of pip. An argument of ours stands for pip: it shows what `pip config list` shows."""
    told = """:env:.extra-index-url='https://a.example/simple  https://b.example/simple'
global.index-url='https://c.example/simple'
install.find-links='/opt/a\\n/opt/b'
freeze.index-url='https://d.example/simple'
global.timeout='60'"""
    settings = runpy.run_path(str(DEPLOY / "environment.py"))["settings_for_uv"]
    assert settings([sys.executable, "-c", f"print({told!r})"]) == {
        "UV_INDEX": "https://a.example/simple https://b.example/simple",
        "UV_DEFAULT_INDEX": "https://c.example/simple",
        "UV_FIND_LINKS": "/opt/a,/opt/b",
        "UV_INDEX_STRATEGY": "unsafe-best-match",
    }


def test_an_environment_that_cannot_be_made_ends_with_what_pip_said(tmp_path: Path) -> None:
    """With an index that does not exist, and no uv: nobody has to search a log for the reason."""
    (tmp_path / "open.lock").write_text("click==8.5.1\n")
    command = [sys.executable, str(DEPLOY / "environment.py"), ".venv", "open.lock"]
    env = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), "PIP_NO_INDEX": "1", "PIP_CONFIG_FILE": "/dev/null"}
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False, env=env)
    assert done.returncode == 1
    assert "click==8.5.1" in done.stderr
    assert "pip ended with" in done.stderr
    assert "svc: uv cannot be had here" in done.stdout
