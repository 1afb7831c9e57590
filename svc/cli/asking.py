"""What commands share that ask the API as a developer: where it is, whose key, and which days."""

from collections.abc import Callable
from typing import Any, NamedTuple
from urllib.parse import urlencode
from zoneinfo import ZoneInfo

import click
from click.core import ParameterSource

from svc.cli import Command
from svc.cli.common import json_option, settings_option
from svc.connect.changes import Refused
from svc.connect.connections import KeyRefused, NotAnswered, Server, checked_url, decoded, known_key
from svc.log.folder import running
from svc.settings import Settings
from svc_http.records import TODAY, USUAL, span_of, today_in

V3 = "/v1/score_v3"
_WHERE = (
    click.Option(["--api"], metavar="URL", envvar="SVC_API_URL", help="The API. [env: SVC_API_URL; default: here]"),
    click.Option(["--key"], envvar="SVC_KEY", help="Your key. [env: SVC_KEY; default: that of `svc connect`]"),
    click.Option(["--connection"], hidden=True, help="Whose key, where agents are connected with several."),
)
_DAYS = (
    click.Option(["--days"], metavar="N", help=f"The last days, or: all. [default: {USUAL}; all if they are empty]"),
    click.Option(["--month"], metavar="YYYY-MM", help="A month."),
    click.Option(["--from"], metavar="DATE", help="The first day of a time."),
    click.Option(["--to"], metavar="DATE", help="The last day of it. [default: today]"),
)


class Asking(Command):
    """A command that asks the API as a developer. Its function gets the server, and the `Span` if `over_time`."""

    def __init__(
        self,
        *,
        callback: Callable[..., Any],
        params: list[click.Parameter],
        json: bool = True,
        over_time: bool = False,
        **kwargs: Any,
    ) -> None:
        def asked(
            settings: Settings, api: str | None, key: str | None, connection: str | None, **arguments: Any
        ) -> None:
            # What serves this folder, if it is the one that was named; else where one would by these settings.
            named = click.get_current_context().get_parameter_source("settings") is ParameterSource.COMMANDLINE
            found = running(settings.var_path) if named or api is None else None
            url = checked_url((api or f"http://{settings.api}") if found is None else found.api)
            try:
                server = Server(url, key or known_key(connection=connection))
                if over_time:
                    given = {name: arguments.pop(name) for name in ("days", "month", "from", "to")}
                    arguments["span"] = asked_span(server, **given)
                callback(server, **arguments)
            except KeyRefused as error:
                raise KeyRefused(f"{error}; give yours with --key or SVC_KEY") from error
            except NotAnswered as error:
                hint = "" if api else "; is `svc serve` running here? --api or SVC_API_URL names another machine's API"
                raise NotAnswered(f"{error}{hint if 'cannot be reached' in str(error) else ''}") from error

        super().__init__(callback=asked, **kwargs)
        settings_option(self)
        self.params += _WHERE
        if json:
            json_option(self)
        self.params += [*params, *(_DAYS if over_time else ())]


def ask(server: Server, path: str, body: object = None, **query: object) -> Any:
    """What a route answers; what is None is not asked for."""
    asked = {name: value for name, value in query.items() if value is not None}
    where = f"{path}?{urlencode(asked)}" if asked else path
    answer = server.asked("GET" if body is None else "POST", where, body)
    found: Any = decoded(server.url, answer, where, object, "the API")
    return found


class Span(NamedTuple):
    """The days that a command is about, as the pages count them: in the zone of the profile."""

    query: dict[str, object]
    told: str
    zone: ZoneInfo


def asked_span(server: Server, *, month: str | None = None, **given: str | None) -> Span:
    given["days"] = month or given.get("days")
    path, query = TODAY
    today, zone = today_in(ask(server, path, **query)["range"])
    try:
        span = Span(*span_of({name: text for name, text in given.items() if text}, today), zone)
        if any(given.values()) or ask(server, f"{V3}/goals", limit=1, **span.query)["begun"] != 0:
            return span
        return Span(*span_of({"days": "all"}, today), zone)  # as the pages, where there is nothing of late
    except ValueError as error:
        raise Refused(str(error)) from error
