"""Sub-sessions in lists, one by itself with its prompts and its explanation, and what people override."""

from collections.abc import Callable
from typing import Annotated, Any, TypeVar
from uuid import UUID

import msgspec
from quart import Request
from quart_trio.wrappers import TrioResponse

from aggregates.decide import AnyCommand
from aggregates.event import Scope
from aggregates.people.directory import Principal
from aggregates.reading.verdicts import Intent
from aggregates.sub_sessions.sub_session import EditTitle, OverrideGap, OverrideGoal, OverrideIntent, OverrideRework
from aggregates.times import US_PER_DAY, Window
from projections.explain.explain import explanation
from projections.reader import Reader
from projections.sub_sessions.detail import prompt_rows, sub_session_detail
from projections.sub_sessions.listing import (
    Overridable,
    Place,
    overridable,
    rubric_item,
    rubric_items,
    rubric_items_in,
    speed_rows,
    trivia,
)
from projections.sub_sessions.listing import accuracy as accuracy_of
from projections.sub_sessions.listing import realtime as realtime_rows
from projections.sub_sessions.rows import resolve
from svc_http.bodies import json_body
from svc_http.errors import HttpError, accepted, bad_request, json_reply, not_found
from svc_http.listener import ByKey, Personal
from svc_http.params import (
    FROM_TO,
    PAGE,
    SHOWN_CHARACTERS,
    SINCE,
    WINDOW,
    clamped,
    current_window,
    from_and_to,
    page,
    path_id,
    text_parameter,
    time,
    zone_of,
)
from svc_http.ports import Service

T = TypeVar("T")


class EditBody(msgspec.Struct):
    title: Annotated[str, msgspec.Meta(max_length=60)]
    summary: Annotated[str, msgspec.Meta(max_length=240)] | None = None


class OverrideBody(msgspec.Struct):
    field: str
    action: str
    payload: dict[str, Any] | None = None


class Overridden(msgspec.Struct, rename="camel"):
    sub_session_id: UUID
    field: str
    action: str


_SESSIONS = (
    text_parameter("agent_session_id", "Sub-sessions of this agent session only."),
    text_parameter("claude_session_id", "Another name of `agent_session_id`."),
)
_WINDOW_DAYS = clamped("window_days", 28, 90, "The last so many days")


# --- lists ----------------------------------------------------------------------------------------------------


async def graded(service: Service, request: Request, caller: Principal) -> TrioResponse:
    return json_reply(await service.read(caller.scope, rubric_items, *page(request.args)))


async def graded_in_range(service: Service, request: Request, caller: Principal) -> TrioResponse:
    window = from_and_to(request.args, zone_of(service, caller), service.now_us())
    return json_reply(await service.read(caller.scope, rubric_items_in, window, *page(request.args)))


def _of_window(query: Callable[[Reader, Scope, Window, int, int], object]) -> Personal:
    async def handler(service: Service, request: Request, caller: Principal) -> TrioResponse:
        window = current_window(service, caller, request.args)
        return json_reply(await service.read(caller.scope, query, window, *page(request.args)))

    return handler


async def realtime(service: Service, request: Request, caller: Principal) -> TrioResponse:
    query = request.args
    from_us = time(query, "from", zone_of(service, caller))
    session_id = query.get("agent_session_id", query.get("claude_session_id"))
    return json_reply(await service.read(caller.scope, realtime_rows, *page(query), from_us, session_id))


async def accuracy(service: Service, request: Request, caller: Principal) -> TrioResponse:
    days = _WINDOW_DAYS.read(request.args)
    return json_reply(await service.read(caller.scope, accuracy_of, days, service.now_us() - days * US_PER_DAY))


# --- one of them ----------------------------------------------------------------------------------------------


async def detail(service: Service, request: Request, caller: Principal, sub_session_id: str) -> TrioResponse:
    wanted = path_id(sub_session_id, "sub-session")
    return _found(await service.read(caller.scope, sub_session_detail, wanted), wanted)


async def prompts(service: Service, request: Request, caller: Principal, sub_session_id: str) -> TrioResponse:
    wanted = path_id(sub_session_id, "sub-session")
    return _found(await service.read(caller.scope, prompt_rows, wanted, *page(request.args)), wanted)


async def explain(service: Service, request: Request, caller: Principal, sub_session_id: str) -> TrioResponse:
    wanted = path_id(sub_session_id, "sub-session")
    rules_version = service.settings.rules_version
    return _found(await service.read(caller.scope, explanation, wanted, rules_version), wanted)


def _found(value: object | None, wanted: UUID) -> TrioResponse:
    """404 where there is none of that id, or it is somebody else's."""
    if value is None:
        raise not_found(f"no sub-session {wanted} of yours")
    return json_reply(value)


async def edit(service: Service, request: Request, caller: Principal, sub_session_id: str) -> TrioResponse:
    wanted = path_id(sub_session_id, "sub-session")
    body = await json_body(request, EditBody)
    if not body.title.strip():
        raise bad_request("title is blank; send 1 to 60 characters")
    turn_id = await service.read(caller.scope, resolve, wanted)
    if turn_id is None:
        raise not_found(f"no sub-session {wanted} of yours")
    command = EditTitle(
        organization_id=caller.scope.organization_id,
        developer_id=caller.scope.developer_id,
        turn_id=turn_id,
        title=body.title,
        summary=body.summary,
    )
    accepted(await service.send(command))
    item = await service.read(caller.scope, rubric_item, wanted)
    if item is None:
        raise not_found(f"sub-session {wanted} is not there any more")
    return json_reply(item)


# --- what a person overrides ----------------------------------------------------------------------------------


class _Split(msgspec.Struct):
    split_turn_idx: Annotated[int, msgspec.Meta(ge=0, le=2**31)]


class _Rename(msgspec.Struct):
    new_label: Annotated[str, msgspec.Meta(max_length=60)]


class _SetIntent(msgspec.Struct):
    intent_class: Intent


async def override(service: Service, request: Request, caller: Principal, sub_session_id: str) -> TrioResponse:
    """Takes a person's word against what was judged; answers the sub-session's id as it is from then on.

    Whatever is wrong, the id too, is a 400.
    """
    body = await json_body(request, OverrideBody)
    act = _action(body)
    wanted = _id(sub_session_id)
    found = await service.read(caller.scope, overridable, wanted)
    if found is None:
        raise _unknown(sub_session_id)
    accepted(await service.send(act(caller.scope, found, body.payload or {})))
    current = await service.read(caller.scope, resolve, wanted)
    return json_reply(Overridden(current or found.sub_session_id, body.field, body.action))


def _id(text: str) -> UUID:
    try:
        return UUID(text)
    except ValueError as error:
        raise _unknown(text) from error


def _unknown(text: str) -> HttpError:
    return bad_request(f"no sub-session {text[:SHOWN_CHARACTERS]!r} of yours")


# --- what each action asks for --------------------------------------------------------------------------------

_Act = Callable[[Scope, Overridable, dict[str, Any]], AnyCommand]


def _action(body: OverrideBody) -> _Act:
    legal = _ACTIONS.get(body.field)
    if legal is None:
        raise bad_request(f"field must be one of {', '.join(_ACTIONS)}, not {body.field[:SHOWN_CHARACTERS]!r}")
    act = legal.get(body.action)
    if act is None:
        raise bad_request(
            f"action of {body.field} must be one of {', '.join(legal)}, not {body.action[:SHOWN_CHARACTERS]!r}"
        )
    return act


def _split(scope: Scope, found: Overridable, payload: dict[str, Any]) -> AnyCommand:
    index, last = _payload(payload, _Split).split_turn_idx, len(found.turns) - 1
    if last < 1:
        raise bad_request("payload.split_turn_idx: the sub-session has one turn; there is nothing to split")
    if not 1 <= index <= last:
        raise bad_request(f"payload.split_turn_idx must be 1 to {last}, the turn that opens the new one, not {index}")
    return OverrideGap(**_about(scope, found.turns[index]), boundary=True)


def _merge(scope: Scope, found: Overridable, payload: dict[str, Any]) -> AnyCommand:
    if found.joins_at is None:
        raise bad_request("there is no earlier sub-session of yours to merge with")
    return OverrideGap(**_about(scope, found.joins_at), boundary=False)


def _goal(complete: bool) -> _Act:
    return lambda scope, found, _: OverrideGoal(**_about(scope, found.turns[0]), complete=complete)


def _rework(rework: bool) -> _Act:
    return lambda scope, found, _: OverrideRework(**_about(scope, found.turns[0]), rework=rework)


def _rename(scope: Scope, found: Overridable, payload: dict[str, Any]) -> AnyCommand:
    label = _payload(payload, _Rename).new_label
    if not label.strip():
        raise bad_request("payload.new_label is blank; send 1 to 60 characters")
    return EditTitle(
        organization_id=scope.organization_id,
        developer_id=scope.developer_id,
        turn_id=found.turns[0].capture_id,
        title=label,
    )


def _set_intent(scope: Scope, found: Overridable, payload: dict[str, Any]) -> AnyCommand:
    intent = _payload(payload, _SetIntent).intent_class
    return OverrideIntent(**_about(scope, found.turns[0]), intent_class=intent)


_ACTIONS: dict[str, dict[str, _Act]] = {
    "boundary": {"split_at_turn": _split, "merge_with_previous": _merge},
    "completion": {"mark_complete": _goal(True), "mark_incomplete": _goal(False)},
    "rollback": {"mark_rework": _rework(True), "mark_not_rework": _rework(False)},
    "label": {"rename": _rename, "set_intent": _set_intent},
}
"""Field → the actions that are legal for it."""


def _about(scope: Scope, place: Place) -> dict[str, Any]:
    return {
        "organization_id": scope.organization_id,
        "developer_id": scope.developer_id,
        "agent_session_id": place.agent_session_id,
        "capture_id": place.capture_id,
    }


def _payload(payload: dict[str, Any], kind: type[T]) -> T:
    try:
        return msgspec.convert(payload, kind)
    except msgspec.ValidationError as error:
        raise bad_request(f"the payload does not fit: {error}") from error


# --- routes ---------------------------------------------------------------------------------------------------

_V3 = "/v1/score_v3"
_ONE = f"{_V3}/sub-sessions/<sub_session_id>"
_NOT_YOURS = {404: "No sub-session of that id is the caller's."}
ROUTES = (
    ByKey("GET", f"{_V3}/insight/sessions", graded, "Graded sub-sessions, newest first.", rubric_items, PAGE),
    ByKey(
        "GET",
        f"{_V3}/insight/rubric",
        graded_in_range,
        "Graded sub-sessions of a range.",
        rubric_items_in,
        (*FROM_TO, *PAGE),
    ),
    ByKey(
        "GET",
        f"{_V3}/speed/sessions",
        _of_window(speed_rows),
        "The scored sub-sessions of a window, newest first.",
        speed_rows,
        (WINDOW, *PAGE),
    ),
    ByKey(
        "GET",
        f"{_V3}/trivia",
        _of_window(trivia),
        "What fell below the substance floor, and why.",
        trivia,
        (WINDOW, *PAGE),
    ),
    ByKey(
        "GET",
        f"{_V3}/realtime/sub-sessions",
        realtime,
        "Sub-sessions as they stand now, newest first.",
        realtime_rows,
        (SINCE, *_SESSIONS, *PAGE),
        listeners="both",
    ),
    ByKey(
        "GET",
        _ONE,
        detail,
        "One sub-session, under its present or a former id.",
        sub_session_detail,
        refuses=_NOT_YOURS,
    ),
    ByKey("PATCH", _ONE, edit, "Name a sub-session.", rubric_item, body=EditBody, refuses=_NOT_YOURS),
    ByKey(
        "GET",
        f"{_ONE}/prompts",
        prompts,
        "Its prompts, each with its own grade.",
        prompt_rows,
        PAGE,
        refuses=_NOT_YOURS,
    ),
    ByKey(
        "GET",
        f"{_V3}/sessions/<sub_session_id>/prompts",
        prompts,
        "The same under another name.",
        prompt_rows,
        PAGE,
        refuses=_NOT_YOURS,
    ),
    ByKey("GET", f"{_ONE}/explain", explain, "Why it is what it is.", explanation, refuses=_NOT_YOURS),
    ByKey(
        "POST",
        "/v1/sub-sessions/<sub_session_id>/override",
        override,
        "Say otherwise than what was judged.",
        Overridden,
        body=OverrideBody,
    ),
    ByKey(
        "GET",
        "/v1/sub-sessions/accuracy",
        accuracy,
        "How often people let stand what was judged.",
        accuracy_of,
        (_WINDOW_DAYS,),
    ),
)
