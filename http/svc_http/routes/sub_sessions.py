"""Sub-sessions: listed, sorted, found by words, one by itself; what people override; a stream that tells of changes."""

from collections import Counter
from collections.abc import AsyncGenerator, Callable
from typing import Annotated, Any, TypeVar, get_args
from uuid import UUID

import msgspec
import structlog
import trio
from quart_trio.wrappers import TrioResponse

from aggregates.event import Scope, Unavailable, shaped
from aggregates.reading.verdicts import INTENTS, Intent
from aggregates.sub_sessions import sub_session as said
from aggregates.times import US_PER_DAY, Window, iso
from projections import Sort
from projections.explain.explain import explanation
from projections.sub_sessions import detail, listing, rows, turns
from projections.sub_sessions.goals import WORDS_CHARACTERS_MAX, Cursor, FoundGoals, Goals, Wanted, goals, search
from svc_http import params
from svc_http.bodies import RETRY_AFTER_SECONDS, HttpError, accepted, found, unavailable
from svc_http.ports import Standing, in_turn
from svc_http.routing import Plain, Routes, caller_of_api

T = TypeVar("T")
_V3 = "/v1/score_v3"
_ONE = f"{_V3}/sub-sessions/<sub_session_id>"
_SESSIONS = (
    params.text_parameter("agent_session_id", "Sub-sessions of this agent session only."),
    params.text_parameter("claude_session_id", "Another name of `agent_session_id`."),
)
_WINDOW_DAYS = params.clamped("window_days", 28, 90, "The last so many days")
_NOT_YOURS = "no sub-session {} of yours"  # there is none of that id, or it is somebody else's
log = structlog.get_logger()
routes = Routes()

_BY_RANGE = params.Arguments((*params.FROM_TO, *params.PAGE), lambda call: (*call.page(), call.own_range()))
_BY_RULES = params.Arguments((), lambda call: (call.service.settings.rules_version,))
_SCORED = "The scored sub-sessions of a window, newest first."
_FLOOR = "What fell below the substance floor, and why."
_DETAIL = "One sub-session, under its present or a former id."
_TURNS = "What was done in each of its turns, and its course."
_PROMPTS, _SAME = "Its prompts, each with its own grade.", "The same under another name."

routes.reads(f"{_V3}/insight/sessions", "Graded sub-sessions, newest first.", listing.rubric_items, params.PAGED)
routes.reads(f"{_V3}/insight/rubric", "Graded sub-sessions of a range.", listing.rubric_items, _BY_RANGE)
routes.reads(f"{_V3}/speed/sessions", _SCORED, listing.speed_rows, params.IN_WINDOW, params.PAGED)
routes.reads(f"{_V3}/trivia", _FLOOR, listing.trivia, params.IN_WINDOW, params.PAGED)
routes.reads(_ONE, _DETAIL, detail.sub_session_detail, missing=_NOT_YOURS)
routes.reads(f"{_ONE}/prompts", _PROMPTS, detail.prompt_rows, params.PAGED, missing=_NOT_YOURS)
routes.reads(f"{_V3}/sessions/<sub_session_id>/prompts", _SAME, detail.prompt_rows, params.PAGED, missing=_NOT_YOURS)
routes.reads(f"{_ONE}/turns", _TURNS, turns.goal_turns, params.PAGED, missing=_NOT_YOURS)
routes.reads(f"{_ONE}/explain", "Why it is what it is.", explanation, _BY_RULES, missing=_NOT_YOURS)

_LIVE = "Sub-sessions as they stand now, newest first."


@routes(f"GET {_V3}/realtime/sub-sessions", _LIVE, (params.SINCE, *_SESSIONS, *params.PAGE), listeners="both")
async def realtime(call: params.ByKey) -> list[listing.SubSession]:
    session_id = call.query.get("agent_session_id", call.query.get("claude_session_id"))
    return await call.read(listing.realtime, *call.page(), call.time("from", call.own_zone), session_id)


@routes("GET /v1/sub-sessions/accuracy", "How often people let stand what was judged.", (_WINDOW_DAYS,))
async def accuracy(call: params.ByKey) -> listing.Accuracy:
    days = _WINDOW_DAYS.read(call.query)
    return await call.read(listing.accuracy, days, call.service.now_us() - days * US_PER_DAY)


class EditBody(msgspec.Struct):
    title: Annotated[str, msgspec.Meta(max_length=60)]
    summary: Annotated[str, msgspec.Meta(max_length=240)] | None = None


@routes(f"PATCH {_ONE}", "Name a sub-session.")
async def edit(call: params.ByKey, body: EditBody, sub_session_id: UUID) -> listing.SubSession:
    if not body.title.strip():
        raise HttpError(400, "title is blank; send 1 to 60 characters")
    turn_id = found(await call.read(rows.resolve, sub_session_id), _NOT_YOURS.format(sub_session_id))
    accepted(await call.service.send(shaped(said.EditTitle, call.scope, body, turn_id=turn_id)))
    row = await call.read(rows.find, sub_session_id)
    return found(row, f"sub-session {sub_session_id} is not there any more").shown_as(listing.SubSession)


# --- what a person overrides ----------------------------------------------------------------------------------


class OverrideBody(msgspec.Struct):
    field: str
    action: str
    payload: dict[str, Any] | None = None


class Overridden(msgspec.Struct, rename="camel"):
    sub_session_id: UUID
    field: str
    action: str


class _Split(msgspec.Struct):
    split_turn_idx: Annotated[int, msgspec.Meta(ge=0, le=2**31)]


class _Rename(msgspec.Struct):
    new_label: Annotated[str, msgspec.Meta(max_length=60)]


class _SetIntent(msgspec.Struct):
    intent_class: Intent


_ACTIONS = {  # field → the actions that are legal for it
    "boundary": ("split_at_turn", "merge_with_previous", "keep_together", "clear"),
    "completion": ("mark_complete", "mark_incomplete", "clear"),
    "rollback": ("mark_rework", "mark_not_rework", "clear"),
    "label": ("rename", "set_intent", "clear"),
}


@routes("POST /v1/sub-sessions/<sub_session_id>/override", "Say otherwise than what was judged.")
async def override(call: params.ByKey, body: OverrideBody, sub_session_id: str) -> Overridden:
    """With the sub-session's id as it is from then on. Whatever is wrong, the id too, is a 400."""
    known, command = await command_of(call, body, sub_session_id)
    accepted(await call.service.send(command))
    current = await call.read(rows.resolve, UUID(sub_session_id))
    return Overridden(current or known.sub_session_id, body.field, body.action)


async def command_of(
    call: params.ByKey, body: OverrideBody, sub_session_id: str
) -> tuple[listing.Overridable, said.Override | said.EditTitle]:
    field = params.one_of("field", body.field, _ACTIONS)
    action = params.one_of(f"action of {field}", body.action, _ACTIONS[field])
    unknown = HttpError(400, f"no sub-session {sub_session_id[: params.SHOWN_CHARACTERS]!r} of yours")
    try:
        wanted = UUID(sub_session_id)
    except ValueError as error:
        raise unknown from error
    known = await call.read(listing.overridable, wanted)
    if known is None:
        raise unknown
    return known, _command(call.scope, known, field, action, body.payload or {})


def _command(
    scope: Scope, known: listing.Overridable, field: str, action: str, payload: dict[str, Any]
) -> said.Override | said.EditTitle:
    by: dict[str, Any] = msgspec.structs.asdict(scope)
    about = by | msgspec.structs.asdict(known.turns[0])
    facts: list[said.OverrideEvent]
    match action:
        case "rename":
            label = _payload(payload, _Rename).new_label
            if not label.strip():
                raise HttpError(400, "payload.new_label is blank; send 1 to 60 characters")
            return said.EditTitle(**msgspec.structs.asdict(scope), turn_id=known.turns[0].capture_id, title=label)
        case "clear":
            places = (known.spoken if field == "boundary" else ()) or known.turns[:1]
            cleared = msgspec.convert(field, said.OverrideField)
            facts = [said.OverrideCleared(**by, **msgspec.structs.asdict(each), field=cleared) for each in places]
        case "mark_complete" | "mark_incomplete":
            facts = [said.GoalOverridden(**about, complete=action == "mark_complete")]
        case "mark_rework" | "mark_not_rework":
            facts = [said.ReworkOverridden(**about, rework=action == "mark_rework")]
        case "set_intent":
            facts = [said.IntentOverridden(**about, intent_class=_payload(payload, _SetIntent).intent_class)]
        case _:
            by["boundary"] = action == "split_at_turn"
            facts = [
                said.GapOverridden(**by, agent_session_id=each.agent_session_id, before_capture=each.capture_id)
                for each in _gaps(known, action, payload)
            ]
    return said.Override(**msgspec.structs.asdict(scope), facts=tuple(facts))


def _gaps(known: listing.Overridable, action: str, payload: dict[str, Any]) -> tuple[listing.TurnPlace, ...]:
    """The turns whose gap before them a person speaks of."""
    if action == "merge_with_previous":
        if known.joins_at is None:
            raise HttpError(400, "there is no earlier sub-session of yours to merge with")
        return (known.joins_at,)
    if action == "keep_together" and "split_turn_idx" not in payload:
        if not known.unsure:
            hint = "send payload.split_turn_idx, the turn that goes on with it"
            raise HttpError(400, f"the judge is sure of every gap in it; {hint}")
        return known.unsure
    index, last = _payload(payload, _Split).split_turn_idx, len(known.turns) - 1
    if last < 1:
        raise HttpError(400, "payload.split_turn_idx: the sub-session has one turn; there is nothing to split")
    if not 1 <= index <= last:
        why = f"must be 1 to {last}, the turn that opens the new one, not {index}"
        raise HttpError(400, f"payload.split_turn_idx {why}")
    return (known.turns[index],)


def _payload(payload: dict[str, Any], kind: type[T]) -> T:
    try:
        return msgspec.convert(payload, kind)
    except msgspec.ValidationError as error:
        raise HttpError(400, f"the payload does not fit: {error}") from error


# --- the stream of events ---------------------------------------------------------------------------------------
# An event says that there is something to fetch, not what. Nothing is queued for anybody: while a client does not
# read, nothing is looked up for it, and after a while it is dropped.

PATH = "/v1/score_v3/events"
NAME = "svc.score_v3.sub_session.updated"
HEARTBEAT_SECONDS = 15.0  # how often a client hears a comment, and its key is looked up; the contract's figure
TELL_SECONDS = 1.0  # between two events of one stream: what happens meanwhile is told as one
LOOK_SECONDS = 0.25  # between two looks whether its key still stands; views move twice a second, so it ends within one
STREAMS_MAX = 256  # in the process: each looks its key up once a second while anything happens
STREAMS_PER_DEVELOPER_MAX = 16  # a dashboard in as many tabs and on as many machines
RECONNECT_MS = 3_000  # when a browser tries again after a stream has ended
_EVENT: params.Schema = {
    "description": "One event of the stream; what `data` holds is JSON.",
    "type": "object",
    "properties": {
        "event": {"const": NAME},
        "id": {"type": "string"},
        "data": {"type": "string", "contentMediaType": "application/json"},
        "retry": {"type": "integer"},
    },
}
_LAST_SEEN = "The last event seen: if it is older than the views, there is one event at once."
_LAST_EVENT_ID = params.Parameter("Last-Event-ID", {"type": "string"}, _LAST_SEEN, place="header")
_OPEN: Counter[UUID] = Counter()  # the streams of each developer
_UNCACHED = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
_EVENTS = "That sub-sessions of the caller's changed, as server-sent events."


@routes(f"GET {PATH}", _EVENTS, (_LAST_EVENT_ID,), answers=Plain("text/event-stream", _EVENT))
async def events(call: params.ByKey) -> TrioResponse:
    return await answer_stream(call, lambda: caller_of_api(call.service, call.request.headers))


async def answer_stream(call: params.ByKey, still_in: Callable[[], object]) -> TrioResponse:
    """It goes on until the client leaves, the server stops, or `still_in` raises `HttpError`."""
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
    call: params.ByKey, began: Standing, missed: bool, still_in: Callable[[], object]
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
        log.debug("event stream ended", reason=reason)


def _event(position: int, now_us: int) -> str:
    return f'event: {NAME}\nid: {position}\ndata: {{"at":"{iso(now_us)}"}}\n\n'


# --- the goals of a range: listed, counted, sorted, and found by words that were said in them -----------------------

FOUND_MAX = 50
_OUTCOME = params.Parameter("outcome", {"enum": list(get_args(rows.GoalOutcome))}, "Only those that came out so.")
_INTENT = params.Parameter("intent_class", {"enum": list(INTENTS)}, "Only those of this kind.")
_PROJECT = "Only those of a project, by its key or name; `unknown` where nothing told it."
_SPOKEN = params.Parameter(
    "overridden", {"enum": ["true", "false"]}, "Only those that the caller said something about."
)
_SORT = params.choice("sort", get_args(Sort), "started", "By what they are sorted; what is not known comes last.")
_ORDER = params.choice("order", ("desc", "asc"), "desc", "Whether the most, or the newest, comes first.")
_CURSOR = params.text_parameter("cursor", "The `next` of the page before.")
_LISTED = (
    *params.until_now("the oldest goal"),
    *(_OUTCOME, _INTENT, params.text_parameter("agent", "Only those worked on with this agent.")),
    *(params.text_parameter("project", _PROJECT), _SPOKEN, _SORT, _ORDER, params.LIMIT, _CURSOR),
)


@routes("GET /v1/score_v3/goals", "Goals with how they came out.", _LISTED)
async def goals_of_range(call: params.ByKey) -> Goals:
    window = call.from_until(call.own_zone, call.service.now_us())
    return await call.read(goals, wanted(call.query, window), *page_of_goals(call.query))


def page_of_goals(query: params.Query) -> tuple[int, Cursor | None]:
    """How many, and from where on."""
    return params.LIMIT.read(query), cursor_sent(query.get("cursor"))


def wanted(query: params.Query, window: Window) -> Wanted:
    """Which goals the query asks for, and in which order."""
    return Wanted(
        window=window,
        outcome=params.any_of(query, "outcome", get_args(rows.GoalOutcome)),
        intent_class=params.any_of(query, "intent_class", INTENTS),
        agent=query.get("agent") or None,
        project=query.get("project") or None,
        overridden=params.any_of(query, "overridden", ("true", "false")) == "true",
        sort=_SORT.read(query),
        ascending=_ORDER.read(query) == "asc",
    )


def cursor_sent(text: str | None) -> Cursor | None:
    with params.refusing():
        return Cursor.read(text) if text else None


class SearchBody(msgspec.Struct, rename={"from_time": "from"}):
    words: Annotated[str, msgspec.Meta(max_length=WORDS_CHARACTERS_MAX)]
    from_time: str | None = None
    to: str | None = None
    outcome: rows.GoalOutcome | None = None
    intent_class: Intent | None = None
    agent: str | None = None
    project: str | None = None
    overridden: bool | None = None
    limit: Annotated[int, msgspec.Meta(ge=1, le=FOUND_MAX)] | None = None
    cursor: str | None = None


@routes("POST /v1/score_v3/goals/search", "Goals in which some words were said, as far back as a second leads.")
async def goals_with_words(call: params.ByKey, body: SearchBody) -> FoundGoals:
    asked = call.asking(msgspec.to_builtins(body))
    window = asked.from_until(call.own_zone, call.service.now_us())
    return await found_with(call, wanted(asked.query, window), body.words, body.limit or FOUND_MAX, body.cursor)


async def found_with(call: params.ByKey, which: Wanted, words: str, limit: int, cursor: str | None) -> FoundGoals:
    """One search at a time, whoever asks, charged to them. Raises `HttpError` 400."""
    if not words.strip():
        raise HttpError(400, "words is blank; send what was said in a prompt or an answer")
    after = cursor_sent(cursor)
    async with in_turn():
        return await call.read(search, which, words, limit, after, call.service.now_us)
