"""The baseline: quart-trio routes that only read and decode the same bodies."""

import sys

import msgspec
import trio
from hypercorn.config import Config
from hypercorn.trio import serve
from quart import Response, request
from quart_trio import QuartTrio


class Prompt(msgspec.Struct):
    """The fields of a capture."""

    prompt_text: str
    tool_session_id: str
    source: str = "claude-code"
    client_event_id: str | None = None


def build() -> QuartTrio:
    """A route for captures, and one for log exports."""
    app = QuartTrio(__name__)
    decoder = msgspec.json.Decoder(Prompt)

    @app.post("/v1/prompts")
    async def capture() -> Response:
        prompt = decoder.decode(await request.get_data())
        return Response(msgspec.json.encode({"id": prompt.client_event_id}), 201, content_type="application/json")

    @app.post("/v1/logs")
    async def export() -> Response:
        msgspec.json.decode(await request.get_data())
        return Response(b"{}", 200, content_type="application/json")

    return app


async def _main() -> None:
    config = Config()
    config.bind = ["127.0.0.1:0"]
    config.accesslog = None
    async with trio.open_nursery() as nursery:
        bound = await nursery.start(serve, build(), config)
        sys.stdout.write(f"ready intake={bound[0]} api={bound[0]}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    trio.run(_main)
