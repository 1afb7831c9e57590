"""`python -m tests.journey`: the product files that a prompt goes through on its way to a score."""

import inspect
import logging
import sys
import tempfile
import threading
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import click
import structlog
import trio
from quart_trio import QuartTrio

from svc.app import open_service
from svc.serving import initialize
from svc.settings import Settings
from svc_http.app import build_api, build_intake

ROOT = Path(__file__).parent.parent
ROOMS = {"aggregates": ROOT, "projections": ROOT, "svc_http": ROOT / "http", "svc": ROOT}
SECONDS_MAX = 60
BACKGROUND = ("svc/maintenance/forget.py", "svc/actors/ticker.py", "svc/app.py")
"""They look at the log after each write, or charge a budget after each pass of the projector, sooner or later: a prompt
does not wait for them."""


class Tracer:
    """Notes which functions of the product are entered, in every thread, while it records."""

    def __init__(self) -> None:
        self.calls: dict[str, dict[str, int]] = {}
        """File → function → how often it was entered or resumed; files in order of first entry."""
        self.switches = 0
        self.recording = False
        self._folders = {f"{parent / room}/": len(f"{parent}/") for room, parent in ROOMS.items()}
        self._names: dict[str, str | None] = {}
        self._last: dict[int, str] = {}

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
        name = self._name(code.co_filename)
        if name is None:
            return
        functions = self.calls.setdefault(name, {})
        functions[code.co_qualname] = functions.get(code.co_qualname, 0) + 1
        thread = threading.get_ident()
        self.switches += self._last.get(thread, name) != name
        self._last[thread] = name

    def _name(self, path: str) -> str | None:
        """The file below its source root; None where it is no product file."""
        if path not in self._names:
            found = [path[cut:] for folder, cut in self._folders.items() if path.startswith(folder)]
            self._names[path] = found[0] if found and found[0] not in BACKGROUND else None
        return self._names[path]


async def walk(var: Path, tracer: Tracer) -> Any:
    """Capture a prompt and its response, then read the day's score, in one process over a real folder."""
    with trio.fail_after(SECONDS_MAX):
        async with open_service(Settings(var=str(var), catalog_refresh=False)) as service:
            made = await initialize(service, var)
            assert made is not None
            intake, api = build_intake(service), build_api(service)
            await service.projector.wait_for(service.journal.head)
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
            with tracer.recorded():
                await _answer(intake, made.key, "POST", "/v1/prompts", prompt)
                await _answer(intake, made.key, "POST", "/v1/prompts/response", response)
                score = await _answer(api, made.key, "GET", "/v1/score_v3/score?window=daily", None)
            return score


async def _answer(app: QuartTrio, key: str, method: str, path: str, body: object) -> Any:
    client = app.test_client(use_cookies=False)
    headers = {"Authorization": f"Bearer {key}"}
    response = await client.open(path, method=method, headers=headers, json=body)
    assert response.status_code < 300, (method, path, response.status_code, await response.get_data())
    return await response.get_json()


def journey() -> tuple[Tracer, Any]:
    """The prompt's way through a service in a folder that goes afterwards, and the score."""
    tracer = Tracer()
    with tempfile.TemporaryDirectory(prefix="svc-journey-") as folder, tracer.installed():
        score = trio.run(walk, Path(folder) / "var", tracer)
    return tracer, score


@click.command()
@click.option("--max", "files_max", type=int, help="Exit with 1 where more files are entered.")
@click.option("--functions", is_flag=True, help="Name the functions of each file.")
def main(files_max: int | None, functions: bool) -> None:
    """Print the product files that a prompt goes through on its way to a score."""
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))
    tracer, _ = journey()
    click.echo(f"{'calls':>6} {'functions':>9}  file")
    for name, entered in tracer.calls.items():
        click.echo(f"{sum(entered.values()):>6} {len(entered):>9}  {name}")
        if functions:
            click.echo("".join(f"{'':>18}{count:>5}  {function}\n" for function, count in entered.items()), nl=False)
    few = sum(len(each) <= 2 for each in tracer.calls.values())
    click.echo(f"{len(tracer.calls)} files, {few} of them for one or two functions; {tracer.switches} file switches")
    if files_max is not None and len(tracer.calls) > files_max:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
