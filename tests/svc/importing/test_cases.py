"""Reports of the field, rebuilt as small inputs that are no part of the project: what a server shows of each. What is
right of a case is what its README says; where that allows two outcomes, either is right."""

import json
import re
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple
from uuid import NAMESPACE_OID, uuid5

import httpx
import pytest

from tests.support.process import Server, init, serving, svc
from tests.support.real_data import FOLDER, NEEDS_REAL_DATA
from tests.support.tables import lines_of

pytestmark = [*NEEDS_REAL_DATA, pytest.mark.process]
CASES = FOLDER / "cases"
WHOLE_RANGE = "from=2026-10-01T00:00:00Z&to=2026-12-31T00:00:00Z"
UUIDS = re.compile(rb"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")


class Case(NamedTuple):
    agent: str
    right: list[dict[str, Any]]  # the figures of one of these
    first: int | None = None  # how much of its file an earlier import has: so many lines, or bytes less than all
    below: str = "."  # the folder that is imported
    variable: str | None = None  # what names the folder instead


LINES = lines_of(Path(__file__).with_name("cases.txt"))
TABLE = {name: Case(**json.loads(row)) for name, _, row in (line.partition(" ") for told, line in LINES if not told)}
PRICES = [json.loads(line) for told, line in LINES if told]


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Server, dict[str, Any]]]:
    made = init(folder := tmp_path_factory.mktemp("cases") / "var")
    with serving(folder, made["key"]) as server:
        yield server, made


def somebody(server: Server, made: dict[str, Any], name: str) -> str:
    """The key of a developer of their own."""
    secret = {"X-Internal-Secret": Path(made["internal_secret_file"]).read_text().strip()}

    def create(what: str, **fields: Any) -> dict[str, Any]:
        answer = httpx.post(f"{server.api_url}/v1/admin/{what}", json=fields, headers=secret)
        assert answer.status_code == 201, answer.text
        found: dict[str, Any] = answer.json()
        return found

    whose = {"developer_id": create("developers", display_name=name)["developer_id"]}
    whose["organization_id"] = made["organization_id"]
    create("memberships", **whose)
    return str(create("keys", **whose)["key"])


def get(server: Server, key: str, path: str) -> Any:
    answer = httpx.get(f"{server.api_url}{path}", headers={"Authorization": f"Bearer {key}"})
    assert answer.status_code == 200, answer.text
    return answer.json()


def imported(server: Server, key: str, case: Case, path: Path) -> dict[str, Any]:
    """Its report; or what it said, where it refused."""
    told, named = {"SVC_KEY": key}, [path / case.below]
    if case.variable:
        told[case.variable], named = str(path), []
    if case.variable == "CLAUDE_CONFIG_DIR":
        told[case.variable] = f"{path},{path.parent / 'other'}"
    done = svc("import", case.agent, *named, "--url", server.intake_url, "--json", told=told, check=False)
    report: dict[str, Any] = json.loads(done.stdout) if done.stdout.strip() else {"refused as": done.stderr}
    return report


def figures(server: Server, key: str, report: dict[str, Any]) -> dict[str, Any]:
    """What the API shows, and of the report what it says of lines that were not used."""
    goals = get(server, key, "/v1/score_v3/realtime/sub-sessions?limit=200")
    found = [get(server, key, f"/v1/score_v3/sub-sessions/{goal['sub_session_id']}/prompts") for goal in goals]
    prompts = sorted((prompt for each in found for prompt in each), key=lambda each: str(each["submitted_at"]))
    used = get(server, key, f"/v1/telemetry/analytics?{WHOLE_RANGE}")
    models, tools = used["models"], used["tools"]
    files = get(server, key, "/v1/score_v3/files?from_date=2026-10-01&to_date=2026-12-31")["items"]
    priced = [(goal["cost_usd"], *bounds(goal)) for goal in sorted(goals, key=lambda goal: str(goal["started_at"]))]
    trends = get(server, key, f"/v1/insights/report?{WHOLE_RANGE}")["trends"]["points"]

    def whole(kind: str) -> int | None:
        told = [each[kind] for each in models if each[kind] is not None]
        return sum(told) if told else None

    return {
        **{"goals": len(goals), "prompts": len(prompts), "requests": sum(each["requests"] for each in models)},
        "answers": [each["response_text"] for each in prompts if each["response_text"] is not None],
        "models": sorted(str(each["model"]) for each in models),
        "input": whole("inputTokens"),
        "output": whole("outputTokens"),
        "read": whole("cacheReadTokens"),
        "write": whole("cacheCreationTokens"),
        "output of": {
            kind: sum(e["outputTokens"] for e in models if kind in str(e["model"])) for kind in ("sonnet", "opus")
        },
        "cost": sum(each["costUsd"] or 0 for each in models),
        "exact": not any(goal["unpriced_requests"] or bounds(goal)[0] or bounds(goal)[1] for goal in goals),
        "wrong prices": [(each, right) for each, right in zip(priced, PRICES, strict=False) if not fits(*each, right)],
        "calls": sum(each["calls"] for each in tools),
        "calls of": {
            name: sum(e["calls"] for e in tools if name in e["name"]) for name in ("exec_command", "create_issue")
        },
        **{"files": len(files), "edits": sum(each["edits"] for each in files)},
        "lines": [sum(each[name] or 0 for each in files) for name in ("linesAdded", "linesRemoved")],
        "friction": any(each["frictionRate"] for each in trends),
        "torn": len(report.get("torn", ())),
        "told": "token" in json.dumps(report.get("passed_over", {})),
        "refused as": report.get("refused as"),
    }


def bounds(goal: dict[str, Any]) -> tuple[int, int]:
    """How many of its requests cost this at least, and how many this at most."""
    return goal["lower_bound_requests"], goal.get("upper_bound_requests", 0)


def fits(cost: float | None, at_least: int, at_most: int, dollars: Sequence[float]) -> bool:
    """A price is one of these, or says on which side of it the true one lies."""
    if cost is None:
        return dollars not in ([7.5], [0.45], [0.75], [0.15])
    right = any(cost == pytest.approx(each) for each in dollars)
    below = at_least and (not dollars or cost <= max(dollars))
    return right or bool(below) or bool(at_most and (not dollars or cost >= min(dollars)))


def differs(wanted: dict[str, Any], found: dict[str, Any]) -> list[str]:
    def same(want: Any, have: Any) -> bool:
        if isinstance(want, int) and isinstance(have, list):
            have = len(have)
        if isinstance(want, float):
            have = pytest.approx(have)
        return bool(want in (have or "") if isinstance(want, str) else want == have)

    return [f"{what}: {found[what]!r}, not {want!r}" for what, want in wanted.items() if not same(want, found[what])]


def orders(name: str) -> tuple[str, ...]:
    several = len(list((CASES / name).rglob("*.jsonl"))) > 1 or (CASES / name / "telemetry.json").exists()
    return ("whole", "forth", "back") if several else ("whole",)


IDS = {f"{name} {order}": (name, order) for name in TABLE for order in orders(name)}
ORDERS = [pytest.param(*each, id=name) for name, each in IDS.items()]


def renamed(file: Path, owner: str) -> None:
    """A session is one developer's: in each test it has ids of its own."""

    def other(found: re.Match[bytes]) -> bytes:
        return str(uuid5(NAMESPACE_OID, f"{owner} {found[0].decode()}")).encode()

    file.write_bytes(UUIDS.sub(other, file.read_bytes()))
    file.rename(file.with_name(UUIDS.sub(other, file.name.encode()).decode()))


def each_alone(path: Path) -> None:
    """Every request in a session of its own, so that a goal shows its price."""
    (file,) = path.rglob("*.jsonl")
    asked, *answers = map(json.loads, file.read_bytes().splitlines())
    for answer in answers:
        session = {"sessionId": str(uuid5(NAMESPACE_OID, answer["uuid"])), "timestamp": answer["timestamp"]}
        lines = [{**asked, "uuid": f"u-{answer['uuid']}", **session}, answer | session]
        file.with_stem(session["sessionId"]).write_text("".join(json.dumps(line) + "\n" for line in lines))
    file.unlink()


@pytest.mark.parametrize(("name", "order"), ORDERS)
def test_a_server_shows_what_is_right(
    house: tuple[Server, dict[str, Any]], tmp_path: Path, name: str, order: str
) -> None:
    """All of a case at once, and where it has several parts one after the other, in either order; then all again."""
    server, made = house
    case, key = TABLE[name], somebody(server, made, f"{name} {order}")
    path = tmp_path / "case"
    shutil.copytree(CASES / name, path / ".config/claude" if case.variable == "HOME" else path)
    shutil.copytree(CASES / "cc-xdg", tmp_path / "other")
    if name == "cc-prices":
        each_alone(path)
    for file in sorted(tmp_path.rglob("*.json*")):
        renamed(file, f"{name} {order}")
    if case.first is not None:
        (file,) = path.rglob("*.jsonl")
        data = file.read_bytes()
        file.write_bytes(
            data[: case.first] if case.first < 0 else b"".join(data.splitlines(keepends=True)[: case.first])
        )
        imported(server, key, case, path)
        file.write_bytes(data)
    parts = [*path.glob("telemetry.json"), *(path.rglob("*.jsonl") if order != "whole" else ())]
    for part in sorted(parts, reverse=order == "back"):
        if part.suffix == ".json":
            told = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
            httpx.post(f"{server.intake_url}/v1/logs", content=part.read_bytes(), headers=told).raise_for_status()
        else:
            imported(server, key, case._replace(below=str(part.relative_to(path))), path)
    imported(server, key, case, path)
    report = imported(server, key, case, path)
    found = figures(server, key, report)
    wrong = [differs(each, found) for each in case.right]
    assert [] in wrong, wrong
    assert report.get("created", 0) == 0
