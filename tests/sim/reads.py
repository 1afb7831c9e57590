"""Compare answers with the model: exactly where it predicts, else by rules that always hold."""

import json
from collections import Counter
from collections.abc import Mapping
from datetime import UTC, datetime
from random import Random
from typing import Any
from urllib.parse import urlencode

from tests.sim import model
from tests.sim.clients import Clients
from tests.sim.life import Answer
from tests.sim.model import Divergence, Person, Usage, same
from tests.sim.stories import DAY_US, NANO, Record, Session

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_USD_DIGITS = 9
EVERYWHERE = (
    *("score", "speed", "speed/sessions", "tokens", "tokens/trend", "skill", "insight/sessions", "insight/summary"),
    *("insight/rubric", "trivia", "trivia/trend", "integrity", "integrity/trend", "integrity/recent", "files"),
    *("prompts/top", "task-time", "model-task", "today-summary"),
    *("../intelligence/throttle", "../intelligence/rightsizing", "../insights/report", "../telemetry/stats"),
    *("../telemetry/analytics", "../telemetry/traces", "../telemetry/metrics", "../sub-sessions/accuracy"),
)
"""Reads of which only the bounds of their figures are known here, by their place beside those of scores."""
_SHARES = ("share", "ratio", "confidence", "per_boolean", "win_rate", "winRate", "firstTryRate", "frictionRate")
_PERCENTS = ("completion_rate", "completionRate", "svc_score", "apg", "skill_index", "standing_score")


def micros(text: str) -> int:
    since = datetime.fromisoformat(text) - _EPOCH
    return (since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds


class Reads:
    def __init__(self, clients: Clients, chance: Random) -> None:
        self._clients = clients
        self._chance = chance
        self.checked: Counter[str] = Counter()

    async def ask(self, person: Person, path: str, **query: object) -> Answer:
        asked = f"/v1/{path}?{urlencode(query)}" if query else f"/v1/{path}"
        answer, _ = await self._clients.insist(person, "api", "GET", asked)
        return answer

    async def get(self, person: Person, path: str, **query: object) -> Any:
        answer = await self.ask(person, path, **query)
        if answer.status != 200:
            raise Divergence(f"GET {path} {query}: {answer.status} {answer.body!r}")
        self.checked[path if "sub-sessions/" not in path else "score_v3/sub-sessions/<id>"] += 1
        return answer.json

    async def _goals(self, person: Person, **query: object) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = await self.get(person, "score_v3/realtime/sub-sessions", limit=500, **query)
        return found

    async def session(self, person: Person, session: Session) -> None:
        await self._logs(person, session)
        await self._sub_sessions(person, session)

    async def _logged(self, person: Person, session: Session, limit: int) -> list[dict[str, Any]]:
        now_us = self._clients.world.clock.now_us()
        days = {"from": "1970-01-01", "to": datetime.fromtimestamp(now_us // 1_000_000 + 100 * 86_400, UTC).date()}
        found: list[dict[str, Any]] = []
        while True:
            place = {"session_id": session.name, "limit": limit, "offset": len(found)}
            page = await self.get(person, "telemetry/logs", **place, **days)
            found += page["records"]
            if not page["has_more"]:
                return found

    async def _logs(self, person: Person, session: Session) -> None:
        """Every record that was acknowledged is there once, as it was sent, and no other is."""
        names = ("model", "input_tokens", "output_tokens", "cost_usd")
        rows = await self._logged(person, session, self._chance.choice((3, 17, 1000)))
        said = [(_nonce(row), micros(row["timestamp"]), *(row[name] for name in names)) for row in rows]
        sure = person.sure.records
        mine = [_shown(record, sure[record.nonce]) for record in session.records if record.nonce in sure]
        same(f"log records of {session.name}", sorted(said), sorted(mine))

    async def _sub_sessions(self, person: Person, session: Session) -> None:
        """Every prompt stands in one sub-session, every request in a sum, and goals are cut where it was scripted."""
        rows = await self._goals(person, agent_session_id=session.name)
        names = [turn.name for turn in session.prompts if turn.name in person.sure.prompts()]
        same(f"turns of {session.name}", sum(row["turns"] for row in rows), len(names))
        usage = model.of_session(person, session.name)
        tokens = sum(row["total_tokens"] or 0 for row in rows)
        same(f"tokens of {session.name}", tokens, usage.input_tokens + usage.output_tokens)
        same(f"unpriced requests of {session.name}", sum(row["unpriced_requests"] for row in rows), usage.unpriced)
        if not usage.unpriced:
            said = round(sum(row["cost_usd"] or 0 for row in rows), _USD_DIGITS)
            same(f"cost of {session.name}", said, round(usage.cost_nano / NANO, _USD_DIGITS))
        await self._prompts(person, session, rows)
        if person.is_whole(session):
            by_start = sorted(rows, key=lambda row: (row["started_at"], row["sub_session_id"]))
            arcs = Counter(turn.arc for turn in session.prompts)
            scripted = [arcs[arc] for arc in sorted(arcs)]
            same(f"turns of each goal of {session.name}", [row["turns"] for row in by_start], scripted)
            self.checked["scripted boundaries"] += 1

    async def _prompts(self, person: Person, session: Session, rows: list[dict[str, Any]]) -> None:
        told: list[tuple[str, str | None]] = []
        for row in rows:
            path = f"score_v3/sub-sessions/{row['sub_session_id']}/prompts"
            told += [(each["prompt_text"], each["response_text"]) for each in await self.get(person, path)]
        asked = [turn for turn in session.prompts if turn.name in person.sure.prompts()]
        answers = person.sure.answers
        expected = [(turn.text, turn.answer.text if turn.name in answers else None) for turn in asked]
        same(f"prompts of {session.name}", sorted(told, key=str), sorted(expected, key=str))

    async def rename(self, person: Person, session: Session) -> None:
        """Name what such a session was about; only where nothing is to come that could cut it otherwise."""
        if not person.is_whole(session):
            return
        row = self._chance.choice(await self._goals(person, agent_session_id=session.name))
        title = f"Title {self._chance.randrange(1_000)}"
        path = f"/v1/score_v3/sub-sessions/{row['sub_session_id']}"
        answer, _ = await self._clients.insist(person, "api", "PATCH", path, {"title": title})
        same("a new title", (answer.status, answer.json.get("title")), (200, title))
        person.titles[row["sub_session_id"]] = title

    async def titles(self, person: Person) -> None:
        for sub_session_id, title in person.titles.items():
            row = await self.get(person, f"score_v3/sub-sessions/{sub_session_id}")
            same("a title by hand", (row["title"], row["title_source"]), (title, "user_edited"))

    async def team_cost(self, team_id: str, people: list[Person], window: str) -> None:
        """A team's cost is that of its members' requests within the window, from the archive and the views."""
        said = await self.get(self._chance.choice(people), "team/cost", team_id=team_id, window=window, tz="UTC")
        start_us, end_us = calendar(self._clients.world.clock.now_us(), window)
        usages = {person.developer_id: model.spent(person, start_us, end_us) for person in people}
        told = {each["developerId"]: (each["requestCount"], each["totalTokens"]) for each in said["members"]}
        expected = {name: (usage.requests, usage.input_tokens + usage.output_tokens) for name, usage in usages.items()}
        same(f"the team's {window} requests", told, expected)
        total = model.added(*usages.values())
        same(f"the team's {window} cost", said["rollup"]["costUsd"], 0.0 if not total.requests else _usd(total))
        bounded(said, "team/cost")

    async def anything(self, person: Person) -> None:
        """Some read whose figures are not known here: it is answered, and they lie within their bounds."""
        path = f"score_v3/{self._chance.choice(EVERYWHERE)}".removeprefix("score_v3/../")
        bounded(await self.get(person, path), path)

    async def not_mine(self, person: Person, other: Person) -> None:
        """Nobody sees another's sub-session, nor anything of another's agent session."""
        for row in (await self._goals(other))[:3]:
            answer = await self.ask(person, f"score_v3/sub-sessions/{row['sub_session_id']}")
            same("another's sub-session", answer.status, 404)
            same("another's session", await self._goals(person, agent_session_id=row["agent_session_id"]), [])

    async def meanwhile(self, person: Person, session: Session) -> None:
        """While things are on their way: all that was acknowledged before is there, and nothing that was never sent."""
        before = {record.nonce for record in session.records if record.nonce in person.sure.records}
        prompts = {turn.name for turn in session.prompts if turn.name in person.sure.prompts()}
        told = [_nonce(row) for row in await self._logged(person, session, 1_000)]
        after = {record.nonce for record in session.records if record.nonce in person.sent.records}
        turns = sum(row["turns"] for row in await self._goals(person, agent_session_id=session.name))
        most = sum(turn.name in person.sent.prompts() for turn in session.prompts)
        if len(told) != len(set(told)) or not before <= set(told) <= after:
            raise Divergence(f"records of {session.name}: {sorted(told)} is not between {before} and {after}")
        if not len(prompts) <= turns <= most:
            raise Divergence(f"turns of {session.name} meanwhile: {turns} is not between {len(prompts)} and {most}")


def calendar(now_us: int, window: str) -> tuple[int, int]:
    day_us = now_us - now_us % DAY_US
    if window == "daily":
        return day_us, day_us + DAY_US
    monday_us = day_us - datetime.fromtimestamp(day_us // 1_000_000, UTC).weekday() * DAY_US
    return monday_us, monday_us + 7 * DAY_US


def _nonce(row: Mapping[str, Any]) -> str:
    found: str = json.loads(row["attributes_json"])["sim.nonce"]
    return found


def _shown(record: Record, at_us: int) -> tuple[object, ...]:
    cost = model.requests(Person("", "", records={record.nonce: record}), [record.nonce])
    return (record.nonce, at_us, record.model, record.input_tokens, record.output_tokens, _usd(cost))


def _usd(usage: Usage) -> float | None:
    return usage.cost_nano / NANO if usage.requests and not usage.unpriced else None


def bounded(value: object, where: str, name: str = "") -> None:
    """Shares lie in 0 to 1, percentages in 0 to 100, counts are not negative. Raises `Divergence`."""
    if isinstance(value, dict):
        for key, each in value.items():
            bounded(each, where, str(key))
    elif isinstance(value, list):
        for each in value:
            bounded(each, where, name)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        most = 1 if name in _SHARES else 100 if name in _PERCENTS else None
        signed = any(word in name.lower() for word in ("trend", "delta", "change"))
        if (value < 0 and not signed) or (most is not None and value > most):
            raise Divergence(f"{where}: {name} is {value}")
