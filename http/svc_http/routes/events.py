"""`GET /v1/score_v3/events`: what happens to the caller's sub-sessions, as server-sent events.

A stream holds its place in the log and nothing else. What has changed since comes from the views by a query, so a burst
is told as what it came to, and who was away goes on by the same query. Nothing is queued for anybody: while a client
does not read, nothing is looked up for it, and after a while it is dropped.
"""

import re
from collections import Counter
from collections.abc import AsyncGenerator, Callable
from uuid import UUID

import msgspec
import structlog
import trio
from quart_trio.wrappers import TrioResponse

from aggregates.times import iso
from projections.derive.changes import Changes, changes_after_pause, changes_since, latest
from svc_http.bodies import RETRY_AFTER_SECONDS, HttpError, unavailable
from svc_http.params import ByKey, Parameter, Schema
from svc_http.ports import Service, Unavailable
from svc_http.routing import Plain, Routes, caller_of_api

PATH = "/v1/score_v3/events"
FAMILY = "svc.score_v3.sub_session."

HEARTBEAT_SECONDS = 15.0
"""How often a client hears a comment, whatever else it hears; the contract's figure. As often, its key is looked up."""

LOOK_SECONDS = 1.0  # between two looks of one stream: what happens meanwhile is told as one

RESUMED_US = 24 * 3_600_000_000  # who was away for longer fetches everything again; the contract's figure

CHANGES_MAX = 500  # what is told at once, some 100 KiB; to whom more happened, fetching everything is less

STREAMS_MAX = 256
"""In the process: each takes a query a second while anything happens, and some 100 KiB while it writes."""

STREAMS_PER_DEVELOPER_MAX = 16  # a dashboard in as many tabs and on as many machines

RECONNECT_MS = 3_000  # when a browser tries again after a stream has ended

_POSITION = re.compile(r"[0-9]{1,19}")
_ENCODER = msgspec.json.Encoder()
_EVENT: Schema = {
    "description": "One event of the stream; what `data` holds is JSON. One without `data` only moves the id on.",
    "type": "object",
    "properties": {
        "event": {"type": "string", "pattern": r"^svc\.score_v3\.sub_session\."},
        "id": {"type": "string"},
        "data": {"type": "string", "contentMediaType": "application/json"},
        "retry": {"type": "integer"},
    },
}
_LAST_EVENT_ID = Parameter(
    "Last-Event-ID", {"type": "string"}, "Go on after this event, within 24 hours.", place="header"
)
_UNCACHED = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
log = structlog.get_logger()


class EventData(msgspec.Struct, frozen=True):
    """What an event carries; ids of null mean: everything may have changed."""

    sub_session_id: str | None
    agent_session_id: str | None
    at: str


class OpenStreams:
    """How many streams are open, by developer."""

    def __init__(self) -> None:
        self._count: Counter[UUID] = Counter()

    def check(self, developer_id: UUID) -> None:
        """Whether there may be one more. Raises `HttpError` 429 or 503."""
        if self._count[developer_id] >= STREAMS_PER_DEVELOPER_MAX:
            message = f"you have {STREAMS_PER_DEVELOPER_MAX} event streams open; close one before you open another"
            raise HttpError(429, message, {"Retry-After": str(RETRY_AFTER_SECONDS)})
        if self._count.total() >= STREAMS_MAX:
            raise unavailable(f"{STREAMS_MAX} event streams are open, as many as there may be; try again soon")

    def enter(self, developer_id: UUID) -> None:
        self._count[developer_id] += 1

    def leave(self, developer_id: UUID) -> None:
        self._count[developer_id] -= 1
        if not self._count[developer_id]:
            del self._count[developer_id]


def new_routes(opened: OpenStreams) -> Routes:
    """The route, and the count of all streams that are open."""
    routes = Routes()

    @routes(
        f"GET {PATH}",
        "What happens to the caller's sub-sessions, as server-sent events.",
        (_LAST_EVENT_ID,),
        answers=Plain("text/event-stream", _EVENT),
        refuses={429: "The caller has as many streams open as one may have."},
    )
    async def events(call: ByKey) -> TrioResponse:
        return await answer_stream(opened, call, lambda: caller_of_api(call.service, call.request.headers))

    return routes


async def answer_stream(opened: OpenStreams, call: ByKey, still_in: Callable[[], object]) -> TrioResponse:
    """An answer that goes on until the client hangs up, stops reading or may no longer, or the server stops.

    `still_in` raises `HttpError` where the caller may no longer read.
    """
    first = await _first(call)
    if call.request.method == "HEAD":
        return TrioResponse(b"", 200, _UNCACHED, content_type="text/event-stream")
    opened.check(call.scope.developer_id)
    response = TrioResponse(_told(opened, call, first, still_in), 200, _UNCACHED, content_type="text/event-stream")
    response.timeout = None
    return response


async def _first(call: ByKey) -> Changes:
    """Where the stream begins, and what the client has missed."""
    service, last = call.service, call.request.headers.get("Last-Event-ID", "")
    if not last:
        return await service.look(call.scope, latest)
    # What is no position was not told by this service; one of this length is beyond every log.
    position = int(last) if _POSITION.fullmatch(last) else 10**19
    since_us = service.now_us() - RESUMED_US
    return await service.look(call.scope, changes_after_pause, position, since_us, CHANGES_MAX)


async def _told(
    opened: OpenStreams, call: ByKey, first: Changes, still_in: Callable[[], object]
) -> AsyncGenerator[bytes, None]:
    """The body: ends when the key does or the server stops, and is closed when the client has gone."""
    service = call.service
    reason = "the client has gone, or did not read"
    opened.enter(call.scope.developer_id)
    try:
        # Something to be sent at once, and what was missed.
        yield f": {FAMILY}*\nretry: {RECONNECT_MS}\n\n{_events(service, first)}{_beat(first)}".encode()
        changes, beat_at = first, trio.current_time() + HEARTBEAT_SECONDS
        while True:
            with trio.move_on_at(beat_at):
                if not await service.moved(changes.position, changes.views):
                    reason = "the server stops"
                    return
            try:
                still_in()
                place = (changes.position, CHANGES_MAX, changes.views)
                changes = await service.look(call.scope, changes_since, *place)
            except (HttpError, Unavailable) as error:
                reason = str(error)
                yield f": {reason}\n\n".encode()
                return
            text = _events(service, changes)
            if trio.current_time() >= beat_at:
                text += _beat(changes)
                beat_at = trio.current_time() + HEARTBEAT_SECONDS
            if text:
                yield text.encode()
            await trio.sleep_until(min(beat_at, trio.current_time() + LOOK_SECONDS))
    except Exception:
        reason = "it broke"
        log.exception("an event stream broke")
    finally:
        opened.leave(call.scope.developer_id)
        log.info("event stream ended", reason=reason)


# --- the text of a stream -----------------------------------------------------------------------------------------


def _beat(changes: Changes) -> str:
    """A comment, and the place to go on from, though there is nothing to tell."""
    return f": \nid: {changes.position}\n\n"


def _events(service: Service, changes: Changes) -> str:
    """Each change as an event. A client that was cut off goes on from the last id that it has seen.

    So of several that share a position only the last bears it; those before it bear the one before.
    """
    if changes.told is None:
        return _event("updated", changes.position, EventData(None, None, iso(service.now_us())))
    parts = []
    for number, change in enumerate(changes.told, 1):
        shared = number < len(changes.told) and changes.told[number].position == change.position
        data = EventData(change.sub_session_id, change.agent_session_id, iso(change.at_us))
        parts.append(_event(change.kind, change.position - shared, data))
    return "".join(parts)


def _event(kind: str, position: int, data: EventData) -> str:
    return f"event: {FAMILY}{kind}\nid: {position}\ndata: {_ENCODER.encode(data).decode()}\n\n"
