"""`python -m tests.journey`: the product files that a request goes through, from intake to a figure."""

import inspect
import logging
import sys
import tempfile
import threading
import time
import uuid
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import click
import structlog
import trio

from aggregates.people.acts import AddTeamMember, CreateTeam
from svc.service import RunningService, open_service
from svc.serving import initialize
from svc.settings import Settings
from svc_http.app import build_api, build_intake
from tests.support.work import api_request, export, record
from tests.svc_http.house import Answer, Caller, bearer

ROOT = Path(__file__).parent.parent
ROOMS = {"aggregates": ROOT, "projections": ROOT, "svc_http": ROOT / "http", "svc": ROOT}
SECONDS_MAX = 60
BACKGROUND = ("svc/maintenance/texts.py",)
"""It looks at the log after each write, sooner or later: a request does not wait for it."""


class Tracer:
    """Counts the functions of the product that are entered, in every thread, while it records."""

    def __init__(self) -> None:
        self.calls: Counter[str] = Counter()
        """File → how often a function of it was entered or resumed; files in order of first entry."""
        self.recording = False
        self._folders = {f"{parent / room}/": len(f"{parent}/") for room, parent in ROOMS.items()}
        self._names: dict[str, str | None] = {}

    @contextmanager
    def installed(self) -> Iterator[None]:
        """In the threads that start within: so before the service opens."""
        threading.setprofile(self._note)
        try:
            yield
        finally:
            threading.setprofile(None)

    @contextmanager
    def recorded(self) -> Iterator[None]:
        """In this thread, and in those of `installed`."""
        self.recording = True
        sys.setprofile(self._note)
        try:
            yield
        finally:
            sys.setprofile(None)
            self.recording = False

    def _note(self, frame: FrameType, event: str, _argument: object) -> None:
        code = frame.f_code
        if not self.recording or event != "call" or not code.co_flags & inspect.CO_OPTIMIZED:
            return  # CO_OPTIMIZED: a function; neither a module nor the body of a class
        if code.co_filename not in self._names:
            self._names[code.co_filename] = self._name(code.co_filename)
        if name := self._names[code.co_filename]:
            self.calls[name] += 1

    def _name(self, path: str) -> str | None:
        """The file below its source root; None where it is no product file."""
        found = [path[cut:] for folder, cut in self._folders.items() if path.startswith(folder)]
        return found[0] if found and found[0] not in BACKGROUND else None


async def prompt_to_score(intake: Caller, api: Caller, _team: str) -> Answer:
    """Capture a prompt and its response, then read the day's score."""
    event_id = str(uuid.uuid4())
    prompt = {
        "prompt_text": "Fix the rounding in src/price.py: 0.005 must become 0.01. Run pytest then.",
        "tool_session_id": "a-session",
        "client_event_id": event_id,
    }
    response = {
        "client_event_id": event_id,
        "response_operation_id": "an-operation",
        "response_text": "I changed round_price in src/price.py; all 12 tests pass.",
        "elapsed_ms": 42_000,
        "input_tokens": 1_200,
        "output_tokens": 300,
        "model": "claude-sonnet-4-5",
    }
    assert (await intake.post("/v1/prompts", prompt)).status == 201
    assert (await intake.post("/v1/prompts/response", response)).status == 204
    return await _counted(api, "/v1/score_v3/score?window=daily")


async def logs_to_team_cost(intake: Caller, api: Caller, team: str) -> Answer:
    """Export what a request cost, then read what the team's week did."""
    told = record("api_request", time.time_ns() // 1_000, {"session.id": "a-session", **api_request(1)})
    assert (await intake.post("/v1/logs", export([told]))).status == 200
    return await _counted(api, f"/v1/team/cost?team_id={team}&window=weekly&tz=UTC")


async def _counted(api: Caller, path: str) -> Answer:
    """As a client that is told to come again: a traced projector takes long on a busy machine."""
    while (answer := await api.get(path)).status == 503:
        pass
    return answer


JOURNEYS: dict[str, Callable[[Caller, Caller, str], Awaitable[Answer]]] = {
    "prompt_to_score": prompt_to_score,
    "logs_to_team_cost": logs_to_team_cost,
}


async def walk(var: Path, tracer: Tracer, name: str) -> Any:
    """Go one way in one process over a real folder; what is read in the end."""
    with trio.fail_after(SECONDS_MAX):
        async with open_service(Settings(var=str(var), catalog_refresh=False)) as service:
            made = await initialize(service, var)
            assert made is not None
            team = await _team(service, made.organization_id, made.developer_id)
            intake, api = (Caller(build(service), bearer(made.key)) for build in (build_intake, build_api))
            await service.projector.wait_for(service.journal.head)
            with tracer.recorded():
                answer = await JOURNEYS[name](intake, api, team)
            assert answer.status == 200, answer
            return answer.json


async def _team(service: RunningService, organization_id: uuid.UUID, developer_id: uuid.UUID) -> str:
    team = CreateTeam(team_id=uuid.uuid4(), organization_id=organization_id, name="Core")
    member = AddTeamMember(team_membership_id=uuid.uuid4(), team_id=team.team_id, developer_id=developer_id)
    for each in (team, member):
        await service.administer(each)
    return str(team.team_id)


def journey(name: str) -> Tracer:
    """Through a service in a folder that goes afterwards."""
    tracer = Tracer()
    with tempfile.TemporaryDirectory(prefix="svc-journey-") as folder, tracer.installed():
        trio.run(walk, Path(folder) / "var", tracer, name)
    return tracer


@click.command()
@click.argument("names", type=click.Choice(list(JOURNEYS)), nargs=-1, required=True)
def main(names: tuple[str, ...]) -> None:
    """Print the product files of each journey, and how many there are."""
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))
    for name in names:
        calls = journey(name).calls
        for file, count in calls.items():
            click.echo(f"{count:>6} calls  {file}")
        click.echo(f"{len(calls)} files: {name}")


if __name__ == "__main__":
    main()
