"""The event stream of the pages: that of the API, for a browser that signed in."""

from quart import Response

from svc_http.bodies import unauthorized
from svc_http.pages.door import BySignIn, cookie_name, sign_in_by
from svc_http.routes.events import OpenStreams, answer_stream
from svc_http.routing import Routes


def new_routes(opened: OpenStreams) -> Routes:
    routes = Routes()

    @routes("GET /live", "What changes, as server-sent events.")
    async def live(call: BySignIn) -> Response:
        # Taken here: a stream goes on outside the context of its request.
        cookie = call.request.cookies.get(cookie_name(call.request), "")

        def still_in() -> None:
            if sign_in_by(call.service, cookie) is None:
                raise unauthorized("this browser is no longer signed in")

        return await answer_stream(opened, call, still_in)

    return routes
