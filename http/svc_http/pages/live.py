"""The event stream of the pages: that of the API, for a browser that signed in."""

from quart import Response

from svc_http.bodies import unauthorized
from svc_http.pages.door import BySignIn, sign_in_of
from svc_http.routes.events import OpenStreams, answer_stream
from svc_http.routing import Routes


def new_routes(opened: OpenStreams) -> Routes:
    routes = Routes()

    @routes("GET /live", "What changes, as server-sent events.")
    async def live(call: BySignIn) -> Response:
        def still_in() -> None:
            if sign_in_of(call.service, call.request) is None:
                raise unauthorized("this browser is no longer signed in")

        return await answer_stream(opened, call, still_in)

    return routes
