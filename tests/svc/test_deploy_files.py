"""What `deploy/` says of the program is true of it: flags, settings, ports, paths, how long a stop takes."""

import re
import tomllib
from pathlib import Path

import pytest

from svc.cli import COMMANDS
from svc.process import MIB_BYTES
from svc.serving import STOP_SECONDS
from svc.settings import CONFIG_FILE, ENVIRONMENT_PREFIX, Settings
from svc_http.bodies import EXPORT_BYTES_MAX
from tests.support.process import ROOT

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
    assert "--require-hashes" in text("Containerfile")


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
