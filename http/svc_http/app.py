"""The two listeners and everything they serve; `tests/routes.txt` is the contract's list."""

from quart_trio import QuartTrio

from svc_http.auth import caller_of_api, caller_of_intake
from svc_http.bodies import CONTROL_BYTES_MAX, EXPORT_BYTES_MAX
from svc_http.listener import Route, attach, new_listener
from svc_http.openapi.page import description_routes
from svc_http.ports import Service
from svc_http.routes import (
    activity,
    capture,
    catalog,
    events,
    operations,
    otlp,
    people,
    reports,
    scores,
    sub_sessions,
    team,
    telemetry,
)

_ROUTES: tuple[Route, ...] = (
    *operations.ROUTES,
    *capture.ROUTES,
    *scores.ROUTES,
    *sub_sessions.ROUTES,
    *activity.ROUTES,
    *telemetry.ROUTES,
    *team.ROUTES,
    *catalog.ROUTES,
    *reports.ROUTES,
    *people.ROUTES,
)


def intake_routes() -> tuple[Route, ...]:
    return (*(each for each in _ROUTES if each.listeners != "api"), *otlp.routes())


def api_routes() -> tuple[Route, ...]:
    """The private listener's, the description of both among them."""
    routes = (*(each for each in _ROUTES if each.listeners != "intake"), *events.routes())
    return (*routes, *description_routes(intake_routes(), routes))


def build_intake(service: Service) -> QuartTrio:
    """The public listener: captures, and what is proxied to the outside. The internal secret means nothing here."""
    app = new_listener("intake", service, EXPORT_BYTES_MAX)
    attach(app, service, caller_of_intake, intake_routes())
    return app


def build_api(service: Service) -> QuartTrio:
    """The private listener: reads, edits and administration."""
    app = new_listener("api", service, CONTROL_BYTES_MAX)
    attach(app, service, caller_of_api, api_routes())
    return app
