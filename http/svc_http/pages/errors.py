"""A refusal as a page: what was wrong, and what to do next."""

from quart import Response

from svc_http.bodies import HttpError
from svc_http.pages import rendering
from svc_http.ports import Service

_TITLES = {
    400: "This address does not fit",
    403: "Not from here",
    404: "Not found",
    405: "Not possible here",
    409: "Not possible now",
    410: "The link is gone",
    413: "Too large",
    421: "Another name",
    429: "Too fast",
    500: "Something broke",
    503: "Not just now",
}


async def error_page(service: Service, error: HttpError) -> Response:
    """With how far a rebuild of the tables is, while there is one."""
    replay = service.replay_status()
    message = error.message[:1].upper() + error.message[1:].rstrip(".") + "."
    values = {
        "title": _TITLES.get(error.status, "Refused"),
        "message": message,
        "progress": replay if error.status == 503 and replay.state == "running" and replay.of else None,
    }
    response = await rendering.html("error.html", values, error.status)
    response.headers.update(error.headers)
    return response
