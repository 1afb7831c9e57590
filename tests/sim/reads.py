"""Compare answers with the model: exactly where it predicts, else by rules that always hold."""

import json
from collections import Counter
from collections.abc import Mapping
from datetime import UTC, datetime
from random import Random
from typing import Any
from urllib.parse import urlencode

from aggregates.people.directory import TEAM_MINIMUM
from tests.sim import model
from tests.sim.clients import Clients
from tests.sim.model import Divergence, Person, Usage, same
from tests.sim.sending import NANO
from tests.sim.stories import DAY_US, Record, Session
from tests.sim.wire import Answer

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_USD_DIGITS = 9

EVERYWHERE = (
    "score_v3/score",
    "score_v3/speed",
    "score_v3/speed/sessions",
    "score_v3/tokens",
    "score_v3/tokens/trend",
    "score_v3/skill",
    "score_v3/insight/sessions",
    "score_v3/insight/summary",
    "score_v3/insight/rubric",
    "score_v3/trivia",
    "score_v3/trivia/trend",
    "score_v3/integrity",
    "score_v3/integrity/trend",
    "score_v3/integrity/recent",
    "score_v3/files",
    "score_v3/prompts/top",
    "score_v3/task-time",
    "score_v3/model-task",
    "score_v3/today-summary",
    "intelligence/throttle",
    "intelligence/rightsizing",
    "insights/report",
    "telemetry/stats",
    "telemetry/analytics",
    "telemetry/traces",
    "sub-sessions/accuracy",
)
"""Reads of which only the bounds of their figures are known here."""

_SHARES = ("share", "ratio", "confidence", "per_boolean", "win_rate", "winRate", "firstTryRate", "frictionRate")
_PERCENTS = ("completion_rate", "completionRate", "svc_score", "apg", "skill_index", "standing_score")


def micros(text: str) -> int:
    """Microseconds since 1970 of a time on the wire."""
    since = datetime.fromisoformat(text) - _EPOCH
    return (since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds


def day_name(day_us: int) -> str:
    """The date that a day of UTC bears."""
    return datetime.fromtimestamp(day_us // 1_000_000, UTC).strftime("%Y-%m-%d")


class Reads:
    """Everything that can be asked, by everybody."""

    def __init__(self, clients: Clients, chance: Random, floor_us: int) -> None:
        """`floor_us`: nothing happened before."""
        self._clients = clients
        self._chance = chance
        self._floor_us = floor_us
        self.checked: Counter[str] = Counter()

    async def ask(self, person: Person, path: str, **query: object) -> Answer:
        """A read of the API, once it is answered."""
        asked = f"/v1/{path}?{urlencode(query)}" if query else f"/v1/{path}"
        answer, _ = await self._clients.insist(person, "api", "GET", asked)
        return answer

    async def get(self, person: Person, path: str, **query: object) -> Any:
        answer = await self.ask(person, path, **query)
        if answer.status != 200:
            raise Divergence(f"GET {path} {query}: {answer.status} {answer.body!r}")
        self.checked[path if "sub-sessions/" not in path else "score_v3/sub-sessions/<id>"] += 1
        return answer.json

    async def everything(self, person: Person) -> None:
        """All that is said of one developer, while nothing is on its way."""
        for session in person.sessions.values():
            await self.session(person, session)
        await self.days(person)

    async def session(self, person: Person, session: Session) -> None:
        """All that is said of one agent session."""
        await self.logs(person, session)
        await self.metrics(person, session)
        await self.per_turn(person, session)
        await self.sub_sessions(person, session)

    # --- telemetry ----------------------------------------------------------------------------------------------

    def _range(self) -> dict[str, object]:
        now = _EPOCH.fromtimestamp(self._clients.world.clock.now_us() // 1_000_000 + 100 * 86_400, UTC)
        return {"from": day_name(self._floor_us), "to": now.strftime("%Y-%m-%d")}

    async def _pages(self, person: Person, path: str, session: Session) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = []
        limit = self._chance.choice((3, 17, 1000))
        while True:
            page = await self.get(
                person, path, session_id=session.name, limit=limit, offset=len(found), **self._range()
            )
            found += page["records"]
            if not page["has_more"]:
                return found

    async def logs(self, person: Person, session: Session) -> None:
        """Every record that was acknowledged is there once, as it was sent, and no other is."""
        names = ("model", "input_tokens", "output_tokens", "cost_usd")
        rows = await self._pages(person, "telemetry/logs", session)
        said = [(_nonce(row), micros(row["timestamp"]), *(row[name] for name in names)) for row in rows]
        sure = person.sure.records
        mine = [_shown(record, sure[record.nonce]) for record in session.records if record.nonce in sure]
        same(f"log records of {session.name}", sorted(said), sorted(mine))

    async def metrics(self, person: Person, session: Session) -> None:
        rows = await self._pages(person, "telemetry/metrics", session)
        said = sorted((_nonce(row), micros(row["timestamp"]), row["value"]) for row in rows)
        told = person.sure.points
        mine = sorted((p.nonce, told[p.nonce], float(p.input_tokens)) for p in session.points if p.nonce in told)
        same(f"metric points of {session.name}", said, mine)

    async def per_turn(self, person: Person, session: Session) -> None:
        """What each prompt used, by the records that name it."""
        if not session.turns:
            return
        value = {"session_id": session.name, "prompt_ids": [turn.name for turn in session.turns]}
        answer, _ = await self._clients.insist(person, "api", "POST", "/v1/telemetry/per-turn", value)
        self.checked["telemetry/per-turn"] += 1
        for said in answer.json["turns"]:
            mine = [r for r in session.records if r.turn == said["prompt_id"] and r.nonce in person.sure.records]
            usage = model.requests(person, (record.nonce for record in mine))
            events = Counter(record.event for record in mine)
            tokens = said["tokens"] or {"input": 0, "output": 0}
            told = (said["requests"], tokens["input"], tokens["output"], said["tools"], said["errors"])
            expected = (*usage[:3], events["tool_result"], events["api_error"])
            same(f"the use of {said['prompt_id']}", told, expected)
            same(f"the cost of {said['prompt_id']}", said["cost_usd"], _usd(usage))

    # --- sub-sessions -------------------------------------------------------------------------------------------

    async def sub_sessions(self, person: Person, session: Session) -> None:
        """Every prompt stands in one sub-session, every request in a sum, and goals are cut where it was scripted."""
        rows = await self.get(person, "score_v3/realtime/sub-sessions", agent_session_id=session.name, limit=500)
        names = [turn.name for turn in session.turns if turn.name in person.sure.prompts()]
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
            same(f"sub-sessions of {session.name}", len(rows), session.arcs)
            by_start = sorted(rows, key=lambda row: (row["started_at"], row["sub_session_id"]))
            arcs = Counter(turn.arc for turn in session.turns)
            same(
                f"turns of each of {session.name}", [row["turns"] for row in by_start], [arcs[a] for a in sorted(arcs)]
            )
            self.checked["scripted boundaries"] += 1

    async def _prompts(self, person: Person, session: Session, rows: list[dict[str, Any]]) -> None:
        told: list[tuple[str, str | None]] = []
        for row in rows:
            path = f"score_v3/sub-sessions/{row['sub_session_id']}/prompts"
            told += [(each["prompt_text"], each["response_text"]) for each in await self.get(person, path)]
        known = person.sure.prompts()
        expected = [
            (turn.text, turn.answer.text if turn.name in person.sure.answers else None)
            for turn in session.turns
            if turn.name in known
        ]
        same(f"prompts of {session.name}", sorted(told, key=str), sorted(expected, key=str))

    async def rename(self, person: Person, session: Session) -> None:
        """Name what such a session was about; only where nothing is to come that could cut it otherwise."""
        if not person.is_whole(session):
            return
        rows = await self.get(person, "score_v3/realtime/sub-sessions", agent_session_id=session.name, limit=500)
        row = self._chance.choice(rows)
        title = f"Title {self._chance.randrange(1_000)}"
        path = f"/v1/score_v3/sub-sessions/{row['sub_session_id']}"
        answer, _ = await self._clients.insist(person, "api", "PATCH", path, {"title": title})
        same("a new title", (answer.status, answer.json.get("title")), (200, title))
        person.titles[row["sub_session_id"]] = title

    async def titles(self, person: Person) -> None:
        for sub_session_id, title in person.titles.items():
            row = await self.get(person, f"score_v3/sub-sessions/{sub_session_id}")
            same("a title by hand", (row["title"], row["title_source"]), (title, "user_edited"))

    # --- days and teams -----------------------------------------------------------------------------------------

    async def days(self, person: Person) -> None:
        prompts = model.days(person.sure.prompts())
        records = model.days(person.sure.records)
        stats = await self.get(
            person, "telemetry/stats", group_by="day", timezone="UTC", signal="logs", **self._range()
        )
        said = {
            group["key"]: (group["records"], group["input_tokens"] or 0, group["cost_usd"]) for group in stats["groups"]
        }
        expected = {}
        for day_us, count in records.items():
            usage = model.requests(person, model.within(person.sure.records, day_us, day_us + DAY_US))
            expected[day_name(day_us)] = (count, usage.input_tokens, _usd(usage))
        same("records, tokens and cost by day", said, expected)
        for day_us in sorted(prompts.keys() | records.keys()):
            await self.day(person, day_us, prompts[day_us])

    async def day(self, person: Person, day_us: int, prompts: int) -> None:
        name = day_name(day_us)
        said = await self.get(person, "score_v3/today-summary", date=name, timezone="UTC")
        same(f"prompts on {name}", said["prompts"], prompts)
        rows = await self.rows_on(person, day_us)
        done = [row for row in rows if not row["is_preview"]]
        same(f"trivia on {name}", said["trivia_count"], sum(not row["substance_floor_passed"] for row in done))
        same(f"crushed on {name}", said["crushed_count"], sum(row["crushed"] is True for row in done))
        if said["tokens"] is not None:
            same(f"tokens on {name}", said["tokens"], sum(row["total_tokens"] or 0 for row in rows))
        bounded(said, f"today-summary {name}")
        use = await self.get(person, "telemetry/analytics", date=name, timezone="UTC")
        self._use(person, use, day_us)

    def _use(self, person: Person, said: Mapping[str, Any], day_us: int) -> None:
        name, day = day_name(day_us), (day_us, day_us + DAY_US)
        mine = [person.records[nonce] for nonce in model.within(person.sure.records, *day)]
        answered = {turn: person.turns[turn].answer for turn in model.told_by_answers(person, *day)}
        tools = Counter(record.tool for record in mine if record.event == "tool_result")
        broken = Counter(record.tool for record in mine if record.event == "tool_result" and not record.ok)
        same(
            f"tools on {name}",
            {t["name"]: (t["calls"], t["errors"]) for t in said["tools"]},
            {tool: (calls, broken[tool]) for tool, calls in tools.items()},
        )
        models = {record.model for record in mine if record.event == "api_request"}
        models |= {answer.model for answer in answered.values() if answer.input_tokens is not None}
        told = {m["model"]: (m["requests"], m["inputTokens"], m["outputTokens"], m["costUsd"]) for m in said["models"]}
        expected = {}
        for each in models:
            usage = model.added(
                model.requests(person, (r.nonce for r in mine if r.model == each)),
                model.answers(person, (turn for turn, answer in answered.items() if answer.model == each)),
            )
            expected[each] = (*usage[:3], _usd(usage))
        same(f"models on {name}", told, expected)
        same(
            f"hours of {name}",
            sum(hour["requests"] for hour in said["activeHours"]),
            sum(e[0] for e in expected.values()),
        )

    async def rows_on(self, person: Person, day_us: int) -> list[dict[str, Any]]:
        rows: list[dict[str, Any]] = []
        while page := await self.get(person, "score_v3/realtime/sub-sessions", limit=500, offset=len(rows)):
            rows += page
        return [row for row in rows if day_us <= micros(row["started_at"]) < day_us + DAY_US]

    async def team(self, team_id: str, people: list[Person], day_us: int) -> None:
        """A team's figures are the sums of its members', whoever of them asks."""
        asker = self._chance.choice(people)
        said = await self.get(asker, "team/daily-summary", team_id=team_id, date=day_name(day_us), tz="UTC")
        rows = [await self.rows_on(person, day_us) for person in people]
        every = [row for each in rows for row in each]
        active = sum(map(bool, rows))
        outcome = (
            sum(row["crushed"] is True for row in every),
            sum(not row["is_preview"] and not row["substance_floor_passed"] for row in every),
        )
        told_on = 0 < active < TEAM_MINIMUM
        expected = (active, len(every), *((None, None) if told_on else outcome))
        told = (said["membersActive"], said["subSessions"], said["crushed"], said["trivia"])
        same(f"the team's day {day_name(day_us)}", told, expected)

    async def team_cost(self, team_id: str, people: list[Person], window: str) -> None:
        """A team's cost is that of its members' requests within the window, from the archive and the views."""
        asker = self._chance.choice(people)
        said = await self.get(asker, "team/cost", team_id=team_id, window=window, tz="UTC")
        start_us, end_us = calendar(self._clients.world.clock.now_us(), window)
        usages = {person.developer_id: model.spent(person, start_us, end_us) for person in people}
        told = {each["developerId"]: (each["requestCount"], each["totalTokens"]) for each in said["members"]}
        same(
            f"the team's {window} requests",
            told,
            {name: (usage.requests, usage.input_tokens + usage.output_tokens) for name, usage in usages.items()},
        )
        total = model.added(*usages.values())
        same(f"the team's {window} cost", said["rollup"]["costUsd"], 0.0 if not total.requests else _usd(total))
        bounded(said, "team/cost")

    # --- what must hold of anything -----------------------------------------------------------------------------

    async def anything(self, person: Person) -> None:
        """Some read whose figures are not known here: it is answered, and they lie within their bounds."""
        path = self._chance.choice(EVERYWHERE)
        bounded(await self.get(person, path), path)

    async def not_mine(self, person: Person, other: Person) -> None:
        """Nobody sees another's sub-session, nor anything of another's agent session."""
        rows = await self.get(other, "score_v3/realtime/sub-sessions", limit=3)
        for row in rows:
            answer = await self.ask(person, f"score_v3/sub-sessions/{row['sub_session_id']}")
            same("another's sub-session", answer.status, 404)
            mine = await self.get(person, "score_v3/realtime/sub-sessions", agent_session_id=row["agent_session_id"])
            same("another's agent session", mine, [])

    async def meanwhile(self, person: Person, session: Session) -> None:
        """While things are on their way: all that was acknowledged before is there, and nothing that was never sent."""
        before = {r.nonce for r in session.records if r.nonce in person.sure.records}
        prompts = {turn.name for turn in session.turns if turn.name in person.sure.prompts()}
        rows = await self.get(person, "telemetry/logs", session_id=session.name, limit=1000, **self._range())
        told = [_nonce(row) for row in rows["records"]]
        after = {r.nonce for r in session.records if r.nonce in person.sent.records}
        if len(told) != len(set(told)) or not before <= set(told) <= after:
            raise Divergence(
                f"log records of {session.name} meanwhile: {sorted(told)} is not between {before} and {after}"
            )
        subs = await self.get(person, "score_v3/realtime/sub-sessions", agent_session_id=session.name, limit=500)
        turns = sum(row["turns"] for row in subs)
        most = sum(turn.name in person.sent.prompts() for turn in session.turns)
        if not len(prompts) <= turns <= most:
            raise Divergence(f"turns of {session.name} meanwhile: {turns} is not between {len(prompts)} and {most}")


def calendar(now_us: int, window: str) -> tuple[int, int]:
    """The day, or the week from Monday on, of UTC that holds a time."""
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
    """None where there was no request, or one without a price."""
    return usage.cost_nano / NANO if usage.requests and not usage.unpriced else None


def bounded(value: object, where: str, name: str = "") -> None:
    """Shares lie in 0 to 1, percentages in 0 to 100, counts are not negative. Raises `Divergence`."""
    match value:
        case dict():
            for key, each in value.items():
                bounded(each, where, str(key))
        case list():
            for each in value:
                bounded(each, where, name)
        case bool() | str() | None:
            pass
        case int() | float():
            most = 1 if name in _SHARES else 100 if name in _PERCENTS else None
            signed = "trend" in name.lower() or "delta" in name.lower() or "change" in name.lower()
            if (value < 0 and not signed) or (most is not None and value > most):
                raise Divergence(f"{where}: {name} is {value}")
