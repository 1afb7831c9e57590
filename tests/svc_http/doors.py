"""Every door: who may knock, how much it takes, what bounds the work behind it, and what one request costs at most.
Made from the routes themselves; `docs/generated/bounds.md` shows it, and ages when a route is added."""

import inspect
from collections.abc import Iterator
from typing import NamedTuple

from svc_http.app import api_routes, intake_routes, page_routes
from svc_http.bodies import EXPORT_BYTES_MAX, FORM_BYTES_MAX, FRAME_BYTES_MAX
from svc_http.pages.door import ByOperator, BySignIn
from svc_http.params import ByKey, BySecret, Call
from svc_http.routing import Route
from svc_http.tools import BODY_BYTES_MAX, PATH, new_routes

WHO: dict[type[Call], str] = {
    Call: "anybody",
    ByKey: "a key",
    BySecret: "the internal secret",
    BySignIn: "a browser that signed in",
    ByOperator: "an owner, or who runs the server",
}
OWN_BYTES = {
    "/v1/logs": EXPORT_BYTES_MAX,
    "/v1/metrics": EXPORT_BYTES_MAX,
    "/v1/traces": EXPORT_BYTES_MAX,
    PATH: BODY_BYTES_MAX,
}
"""Of the routes that read their bodies themselves."""
STREAMS = ("/v1/score_v3/events", "/live")
COST = {
    "/v1/logs": "50,000 records, cut in the lane with rests",
    "/v1/metrics": "50,000 points, cut in the lane with rests",
    "/v1/traces": "50,000 spans, cut in the lane with rests",
    "/v1/import": "1,000 exchanges, made in the lane",
    "/v1/admin/control/import": "1,000 exchanges, made in the lane",
    PATH: "one tool, within 30 s; a grade of 32 KB in the lane",
    "/habits/grade": "a grade of 32 KB in the lane",
    "/goals/search": "a second of texts, one search at a time",
    "/v1/score_v3/goals/search": "a second of texts, one search at a time",
    "/openapi.json": "made once, in the lane",
    "/docs": "made once, in the lane",
    "/health": "a synced write a second, whoever asks",
    "/health/ready": "a synced write a second, whoever asks",
    "/metrics": "what was counted; some sizes of files",
    "/v1/score_v3/peer-comparison": "one of four reads; 20 ranges a day",
}


class Door(NamedTuple):
    listener: str
    route: Route
    body_bytes_max: int
    """0: no body is read."""

    @property
    def name(self) -> str:
        return f"{self.listener} {self.route.method} {self.route.path}"

    @property
    def bounds(self) -> str:
        """The mechanisms of docs/security.md that it passes, besides the body's size."""
        found = ["wrong keys"] if self.route.kind in (ByKey, BySecret) else []
        if self.route.kind is not BySecret:
            found.append("budget")
        if self.route.path in STREAMS:
            found.append("streams")
        if self.body_bytes_max:
            found.append("bodies")
        if self.route.kind in (ByKey, BySignIn) and self.body_bytes_max:
            found.append("fairness")
        return ", ".join(found)

    @property
    def cost(self) -> str:
        if self.route.path in COST:
            return COST[self.route.path]
        if self.route.path in STREAMS:
            return "a read a second while anything happens, until the key ends"
        if self.route.method == "GET":
            return "one of four reads" if self.route.kind is not Call else "a text that is there"
        return "commands of its body, in a bounded mailbox" if self.body_bytes_max else "one command"


def all_doors() -> Iterator[Door]:
    listeners = {
        "intake": intake_routes(),
        "api": (*api_routes(), *new_routes(None)),
        "page": page_routes(),
    }
    for listener, routes in listeners.items():
        for route in routes:
            yield Door(listener, route, _body_bytes_max(listener, route))


def _body_bytes_max(listener: str, route: Route) -> int:
    if route.method == "GET":
        return 0
    if listener == "page":
        return FORM_BYTES_MAX if "form" in route.handler.__annotations__ else 0
    reads = "body" in route.handler.__annotations__ or ".body.json(" in inspect.getsource(route.handler)
    return OWN_BYTES.get(route.path, FRAME_BYTES_MAX if reads else 0)
