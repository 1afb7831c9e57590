"""`GET /v1/score_v3/events`: that sub-sessions of the caller's changed, as server-sent events.

An event says that there is something to fetch, not what. Nothing is queued for anybody: while a client does not read,
nothing is looked up for it, and after a while it is dropped.
"""

from collections import Counter
from collections.abc import AsyncGenerator, Callable
from uuid import UUID

import msgspec
import structlog
import trio
from quart_trio.wrappers import TrioResponse

from aggregates.event import Unavailable
from aggregates.times import iso
from svc_http.bodies import RETRY_AFTER_SECONDS, HttpError, unavailable
from svc_http.params import ByKey, Parameter, Schema
from svc_http.ports import Standing
from svc_http.routing import Plain, Routes, caller_of_api

PATH = "/v1/score_v3/events"
NAME = "svc.score_v3.sub_session.updated"
HEARTBEAT_SECONDS = 15.0
"""How often a client hears a comment, whatever else it hears; the contract's figure. As often, its key is looked up."""
TELL_SECONDS = 1.0  # between two events of one stream: what happens meanwhile is told as one
LOOK_SECONDS = 0.25  # between two looks whether its key still stands; views move twice a second, so it ends within one
STREAMS_MAX = 256  # in the process: each looks its key up once a second while anything happens
STREAMS_PER_DEVELOPER_MAX = 16  # a dashboard in as many tabs and on as many machines
RECONNECT_MS = 3_000  # when a browser tries again after a stream has ended
_ENCODER = msgspec.json.Encoder()
_EVENT: Schema = {
    "description": "One event of the stream; what `data` holds is JSON.",
    "type": "object",
    "properties": {
        "event": {"const": NAME},
        "id": {"type": "string"},
        "data": {"type": "string", "contentMediaType": "application/json"},
        "retry": {"type": "integer"},
    },
}
_ABOUT = "The last event seen: if it is older than the views, there is one event at once."
_LAST_EVENT_ID = Parameter("Last-Event-ID", {"type": "string"}, _ABOUT, place="header")
_UNCACHED = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
log = structlog.get_logger()
routes = Routes()


class EventData(msgspec.Struct, frozen=True):
    at: str


_OPEN: Counter[UUID] = Counter()  # the streams of each developer


@routes(
    f"GET {PATH}",
    "That sub-sessions of the caller's changed, as server-sent events.",
    (_LAST_EVENT_ID,),
    answers=Plain("text/event-stream", _EVENT),
    refuses={429: "The caller has as many streams open as one may have."},
)
async def events(call: ByKey) -> TrioResponse:
    return await answer_stream(call, lambda: caller_of_api(call.service, call.request.headers))


async def answer_stream(call: ByKey, still_in: Callable[[], object]) -> TrioResponse:
    """An answer that goes on until the client hangs up, stops reading or may no longer, or the server stops.

    `still_in` raises `HttpError` where the caller may no longer read.
    """
    began = await call.service.standing(call.scope)
    if call.request.method == "HEAD":
        return TrioResponse(b"", 200, _UNCACHED, content_type="text/event-stream")
    if _OPEN[call.scope.developer_id] >= STREAMS_PER_DEVELOPER_MAX:
        message = f"you have {STREAMS_PER_DEVELOPER_MAX} event streams open; close one before you open another"
        raise HttpError(429, message, {"Retry-After": str(RETRY_AFTER_SECONDS)})
    if _OPEN.total() >= STREAMS_MAX:
        raise unavailable(f"{STREAMS_MAX} event streams are open, as many as there may be; try again soon")
    missed = call.request.headers.get("Last-Event-ID", "") not in ("", str(began.position))
    response = TrioResponse(_told(call, began, missed, still_in), 200, _UNCACHED, content_type="text/event-stream")
    response.timeout = None
    return response


async def _told(
    call: ByKey, began: Standing, missed: bool, still_in: Callable[[], object]
) -> AsyncGenerator[bytes, None]:
    """The body: ends when the key does or the server stops, and is closed when the client has gone."""
    service, told = call.service, began
    reason = "the client has gone, or did not read"
    _OPEN[call.scope.developer_id] += 1
    try:
        first = _event(began.position, service.now_us()) if missed else f"id: {began.position}\n\n"
        yield f": {NAME}\nretry: {RECONNECT_MS}\n\n{first}".encode()
        beat_at, tell_at = trio.current_time() + HEARTBEAT_SECONDS, trio.current_time()
        while True:
            with trio.move_on_at(beat_at):
                if not await service.moved(told.steps):
                    reason = "the server stops"
                    return
            try:
                still_in()
                now = await service.standing(call.scope)
            except (HttpError, Unavailable) as error:
                reason = error.told if isinstance(error, Unavailable) else error.message
                yield f": {reason}\n\n".encode()
                return
            text, is_news = "", now.changed > told.steps
            if is_news and trio.current_time() >= tell_at:
                text, tell_at = _event(now.position, service.now_us()), trio.current_time() + TELL_SECONDS
            if text or not is_news:
                told = now
            if trio.current_time() >= beat_at:
                text += ": \n\n"
                beat_at = trio.current_time() + HEARTBEAT_SECONDS
            if text:
                yield text.encode()
            await trio.sleep_until(min(beat_at, trio.current_time() + LOOK_SECONDS))
    except Exception:
        reason = "it broke"
        log.exception("an event stream broke")
    finally:
        _OPEN[call.scope.developer_id] -= 1
        log.info("event stream ended", reason=reason)


def _event(position: int, now_us: int) -> str:
    return f"event: {NAME}\nid: {position}\ndata: {_ENCODER.encode(EventData(iso(now_us))).decode()}\n\n"
