"""The real service with a clock that the story moves, and those who talk to it over HTTP."""

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from uuid import UUID

from quart_trio import QuartTrio

from aggregates.events import TOPICS, Event
from aggregates.scope import Scope
from svc.clock import FixedClock
from svc.codec import NewEvent
from svc.service import RunningService
from svc.ticking import Ticker
from svc_http.app import build_api, build_intake
from tests.golden.agents import Export, Turn, claude_code
from tests.golden.folder import Asked, Json, call
from tests.support.log import named

MINUTE_US = 60 * 1_000_000
DAY_US = 24 * 60 * MINUTE_US


def at(text: str) -> int:
    """Microseconds of a time in UTC, like `07-30 15:00`."""
    return int(datetime.fromisoformat(f"2026-{text}:00+00:00").timestamp()) * 1_000_000


NOW_US = at("07-30 15:00")
"""A Thursday: when everything is over, and when it is read."""


class World:
    """The service, who lives in it, and a clock that the story moves."""

    def __init__(self, var: Path, service: RunningService, clock: FixedClock) -> None:
        self.var, self.service, self.clock = var, service, clock
        self.intake, self.api = build_intake(service), build_api(service)
        self.internal = {"X-Internal-Secret": service.settings.internal_secret}
        self.keys: dict[str, str] = {}
        self.developers: dict[str, UUID] = {}
        self.organization_id = self.team_id = UUID(int=0)

    @property
    def asked(self) -> Asked:
        """Who reads the folder in the end."""
        return Asked(now_us=NOW_US, organization_id=self.organization_id, developers=self.developers)

    def scope(self, name: str) -> Scope:
        """Whose captures."""
        return Scope(self.organization_id, self.developers[name])

    async def until(self, now_us: int) -> None:
        """Move the clock, and let the service say that time has passed where something was due."""
        assert now_us >= self.clock.now_us(), "the story goes forward"
        ticker = Ticker(self.service.journal, self.service.projector, self.clock)
        self.clock.advance(now_us - self.clock.now_us())
        await self.level()
        while await ticker.look():
            await self.level()

    async def level(self) -> None:
        """Until the views hold the log."""
        await self.service.projector.wait_for(self.service.journal.head)

    async def admin(self, method: str, path: str, body: Json = None) -> Json:
        """An internal request."""
        return await call(self.api, method, f"/v1/admin/{path}", body, headers=self.internal)

    async def send(self, name: str, method: str, path: str, body: Json = None, *, refused: bool = False) -> Json:
        """A developer's request, to the listener that takes it."""
        is_api = "score_v3" in path or "sub-sessions" in path
        app: QuartTrio = self.api if is_api else self.intake
        headers = {"Authorization": f"Bearer {self.keys[name]}"}
        return await call(app, method, path, body, headers=headers, refused=refused)

    async def exports(self, name: str, exports: Sequence[Export]) -> None:
        """Telemetry of a developer's agent."""
        for path, export in exports:
            await self.send(name, "POST", path, export)

    async def prompt(self, name: str, turn: Turn, source: str = "claude-code", **fields: Json) -> UUID:
        """A plugin's capture of a prompt, at its time."""
        await self.until(turn.at_us)
        body = {"prompt_text": turn.text, "tool_session_id": turn.session, "source": source}
        moment = datetime.fromtimestamp(turn.at_us / 1e6, UTC).isoformat()
        answer = await self.send(name, "POST", "/v1/prompts", body | {"submitted_at": moment} | fields)
        return UUID(answer["id"])

    async def live(self, name: str, turn: Turn) -> UUID:
        """A turn as Claude Code with the plugin tells it: the prompt, the telemetry, the response."""
        cwd: dict[str, Json] = {"cwd": "/home/ana/ledger", "metadata": {"branch": "main"}, "host_prompt_id": turn.id}
        prompt_id = await self.prompt(name, turn, client_event_id=str(named(turn.text + turn.id)), **cwd)
        await self.until(turn.at(12))
        await self.exports(name, claude_code(turn))
        await self.send(name, "POST", "/v1/prompts/response", response(turn, prompt_id))
        return prompt_id

    async def told(self, name: str, exports: Sequence[Export], at_us: int) -> None:
        """Telemetry alone, half a minute after its time."""
        await self.until(at_us + MINUTE_US // 2)
        await self.exports(name, exports)

    async def append(self, stream: str, *events: Event) -> None:
        """Facts that no request leads to, in one stream."""
        new = [NewEvent(named(stream), version, event) for version, event in enumerate(events, 1)]
        await self.service.journal.append(new)
        await self.level()

    def fact(self, topic: str, **fields: object) -> Event:
        """A fact received now."""
        return TOPICS[topic](received_at_us=self.clock.now_us(), **fields)


def response(turn: Turn, prompt_id: UUID) -> dict[str, Json]:
    """What a plugin sends when the agent is done."""
    tokens = {"input_tokens": turn.input_tokens, "output_tokens": turn.output_tokens, "cache_read_tokens": 9_000}
    told = {"response_text": turn.answer, "elapsed_ms": 42_000, "model": turn.model, "cost_usd": 0.0123}
    moment = datetime.fromtimestamp(turn.at(12) / 1e6, UTC).isoformat()
    about = {"prompt_id": str(prompt_id), "response_operation_id": f"op-{turn.id}", "responded_at": moment}
    return about | told | tokens
