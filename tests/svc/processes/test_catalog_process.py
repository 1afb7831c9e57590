"""`svc catalog` as a person types it, and prices across the death of the process."""

import json
import os
from pathlib import Path
from typing import Any

import httpx
import msgspec
import pytest
from click.testing import CliRunner

from svc.cli import main
from tests.support.catalogs import document, lookup
from tests.support.process import Server, init, serving

pytestmark = pytest.mark.process


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


@pytest.mark.one_folder("its commands run in this process, which knows of a folder only")
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


@pytest.mark.one_folder("its commands run in this process, which knows of a folder only")
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


@pytest.mark.one_folder("its commands run in this process, which knows of a folder only")
def test_a_server_without_prices_is_not_ready(tmp_path: Path) -> None:
    """It lives, takes captures and tries again; a person who publishes makes it ready at once."""
    var, file = tmp_path / "var", tmp_path / "none.json"
    with serving(var, None, "--catalog", str(file)) as server:
        nothing = {"status": "unavailable", "reason": "no validated catalog snapshot"}
        assert asked(server, var) == server.api.get("/health/ready").json() == nothing
        assert server.api.get("/health/ready").status_code == 503
        assert "no validated catalog snapshot" in refused("show", "--var", var)
        file.write_bytes(msgspec.json.encode(document(lookup("m", list_rates=[]))))
        assert catalog("publish", file, "--var", var)["catalog_revision"] == 1
        assert server.api.get("/health/ready").json() == {"status": "ok"}
