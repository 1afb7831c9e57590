"""A stream of events on the real program, over HTTP/2."""

import ssl
from pathlib import Path
from typing import Any

import httpx
import pytest
import trio

from tests.support.event_streams import Stream
from tests.support.listening import self_signed
from tests.support.process import init, serving

pytestmark = pytest.mark.process

PATH = "/v1/score_v3/events"
WAIT_SECONDS = 10.0


async def _followed(api: httpx.AsyncClient, stream: Stream) -> None:
    async with api.stream("GET", PATH) as answer:
        assert (answer.http_version, answer.status_code) == ("HTTP/2", 200)
        async for data in answer.aiter_bytes():
            stream.feed(data)


async def test_events_over_http_2(tmp_path: Path) -> None:
    """A stream shares its connection with other requests; a stop brings it to its end."""
    var = tmp_path / "var"
    made = init(var)
    certificate, key = self_signed(tmp_path)
    context = ssl.create_default_context(cafile=str(certificate))
    stream = Stream()
    options: dict[str, Any] = {"headers": {"X-API-Key": made["key"]}, "verify": context}
    with serving(var, None, "--tls-certificate", str(certificate), "--tls-key", str(key)) as server:
        async with (
            httpx.AsyncClient(base_url=server.api_url, http2=True, timeout=30, **options) as api,
            httpx.AsyncClient(base_url=server.intake_url, **options) as intake,
            trio.open_nursery() as nursery,
        ):
            nursery.start_soon(_followed, api, stream)
            with trio.fail_after(WAIT_SECONDS):
                while not stream.last_id:
                    assert (await api.get("/v1/score_v3/realtime/sub-sessions")).json() == []
                prompt = {"prompt_text": "Fix the crash in src/parser.py", "tool_session_id": "s1"}
                assert (await intake.post("/v1/prompts", json=prompt)).status_code == 201
                while not stream.told:
                    assert (await api.get("/v1/score_v3/score")).status_code == 200
            assert await trio.to_thread.run_sync(server.stop) == 0
