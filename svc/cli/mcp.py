"""`svc mcp`: the tools that agents ask, by standard input and output. Needs the extra `mcp`."""

import sys
from typing import Any

import click

from svc import __version__
from svc.cli.common import run
from svc.cli.scoring import Asking
from svc.connect.server import KeyRefused, NotAnswered, Server

MISSING = "svc mcp needs the extra `mcp`: pip install 'coding-agent-mirror[mcp]' (or uv tool install, pipx install)"


@click.command(cls=Asking, json=False, example="svc mcp --api http://127.0.0.1:8318")
def mcp(server: Server) -> None:
    """Reads JSON-RPC on standard input; an agent starts it, `svc connect claude-code --mcp` has it do so. Seven tools,
    all of them read only: my_day, my_goals, explain_goal, my_habits, my_limits, my_cost, grade_prompt.
    """
    try:
        from svc_http.asking.tools import build, refused
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in ("mcp", "mcp_types", "anyio"):
            raise
        raise click.ClickException(MISSING) from error
    import anyio
    import msgspec

    from aggregates.scores.grades import grade_text

    one_at_a_time = anyio.Lock()  # one connection

    async def ask(_ctx: Any, path: str, query: dict[str, object]) -> Any:
        from urllib.parse import urlencode

        where = f"{path}?{urlencode(query)}" if query else path
        async with one_at_a_time:
            try:
                return msgspec.json.decode(await anyio.to_thread.run_sync(server.answer, "GET", where))
            except (KeyRefused, NotAnswered) as error:
                raise refused(str(error)) from error

    if sys.stdin.isatty():
        click.echo("svc mcp waits for an agent's questions on standard input; Ctrl-C ends it", err=True)

    async def grade(_ctx: Any, text: str) -> Any:
        return await anyio.to_thread.run_sync(grade_text, text)

    run(build(ask, grade, __version__).run_stdio_async)
