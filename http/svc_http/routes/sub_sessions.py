"""Sub-sessions in lists, one by itself with its prompts, and the naming of one."""

from collections.abc import Callable
from typing import Annotated, Any, TypeVar
from uuid import UUID

import msgspec
from quart import Request
from quart_trio.wrappers import TrioResponse

from aggregates.command import Refused
from aggregates.decide import AnyCommand
from aggregates.event import Scope
from aggregates.people.directory import Principal
from aggregates.reading.verdicts import Intent
from aggregates.sub_sessions.commands import CorrectGap, CorrectGoal, CorrectIntent, CorrectRework, EditTitle
from projections.explain.explain import explanation
from projections.sub_sessions.detail import prompt_rows, sub_session_detail
from projections.sub_sessions.listing import realtime as realtime_rows
from projections.sub_sessions.listing import rubric_item, rubric_items, rubric_items_in, speed_rows
from projections.sub_sessions.listing import trivia as trivia_items
from projections.sub_sessions.overrides import Overridable, Place, overridable
from projections.sub_sessions.overrides import accuracy as accuracy_of
from projections.sub_sessions.rows import resolve
from svc_http.bodies import read_json
from svc_http.errors import HttpError, bad_request, json_reply, not_found, refusal
from svc_http.params import from_and_to, integer, limit, offset, path_id, time, window_name, windows, zone_of
from svc_http.ports import Service


class EditBody(msgspec.Struct):
    title: Annotated[str, msgspec.Meta(max_length=60)]
    summary: Annotated[str, msgspec.Meta(max_length=240)] | None = None


_EDIT_DECODER = msgspec.json.Decoder(EditBody)


async def insight_sessions(service: Service, request: Request, caller: Principal) -> TrioResponse:
    """Graded sub-sessions, newest first."""
    rows, skipped = limit(request.args), offset(request.args)
    return json_reply(await service.read(caller.scope, rubric_items, rows, skipped))


async def insight_rubric(service: Service, request: Request, caller: Principal) -> TrioResponse:
    """Graded sub-sessions of a range, the last four weeks by default."""
    window = from_and_to(request.args, zone_of(service, caller), service.now_us())
    rows, skipped = limit(request.args), offset(request.args)
    return json_reply(await service.read(caller.scope, rubric_items_in, window, rows, skipped))


async def speed_sessions(service: Service, request: Request, caller: Principal) -> TrioResponse:
    """The scored sub-sessions of the window, newest first."""
    (window,) = windows(service, caller, window_name(request.args), 1)
    rows, skipped = limit(request.args), offset(request.args)
    return json_reply(await service.read(caller.scope, speed_rows, window, rows, skipped))


async def trivia(service: Service, request: Request, caller: Principal) -> TrioResponse:
    """What fell below the substance floor in the window, and why."""
    (window,) = windows(service, caller, window_name(request.args), 1)
    rows, skipped = limit(request.args), offset(request.args)
    return json_reply(await service.read(caller.scope, trivia_items, window, rows, skipped))


async def realtime(service: Service, request: Request, caller: Principal) -> TrioResponse:
    """Sub-sessions as they stand now, newest first."""
    query = request.args
    from_us = time(query, "from", zone_of(service, caller))
    session_id = query.get("agent_session_id", query.get("claude_session_id"))
    rows, skipped = limit(query), offset(query)
    found = await service.read(caller.scope, realtime_rows, rows, skipped, from_us, session_id)
    return json_reply(found)


async def detail(service: Service, request: Request, caller: Principal, sub_session_id: str) -> TrioResponse:
    """One sub-session, open or settled, under its present or any former id."""
    wanted = path_id(sub_session_id, "sub-session")
    found = await service.read(caller.scope, sub_session_detail, wanted)
    if found is None:
        raise no_sub_session(wanted)
    return json_reply(found)


async def prompts(service: Service, request: Request, caller: Principal, sub_session_id: str) -> TrioResponse:
    """Its prompts in time order, each with its own rubric."""
    wanted = path_id(sub_session_id, "sub-session")
    rows, skipped = limit(request.args), offset(request.args)
    found = await service.read(caller.scope, prompt_rows, wanted, rows, skipped)
    if found is None:
        raise no_sub_session(wanted)
    return json_reply(found)


def no_sub_session(wanted: UUID) -> HttpError:
    """404: none of that id, or somebody else's."""
    return not_found(f"no sub-session {wanted} of yours")


async def edit(service: Service, request: Request, caller: Principal, sub_session_id: str) -> TrioResponse:
    """Names a sub-session; answers it as it then stands, under its present id."""
    wanted = path_id(sub_session_id, "sub-session")
    body = await read_json(request, _EDIT_DECODER)
    if not body.title.strip():
        raise bad_request("title is blank; send 1 to 60 characters")
    turn_id = await service.read(caller.scope, resolve, wanted)
    if turn_id is None:
        raise no_sub_session(wanted)
    command = EditTitle(
        organization_id=caller.scope.organization_id,
        developer_id=caller.scope.developer_id,
        turn_id=turn_id,
        title=body.title,
        summary=body.summary,
    )
    reply = await service.send(command)
    if isinstance(reply, Refused):
        raise refusal(reply.reason, reply.message)
    item = await service.read(caller.scope, rubric_item, wanted)
    if item is None:
        raise not_found(f"sub-session {wanted} is not there any more")
    return json_reply(item)


# What a person overrides of a sub-session, and how often people do.

T = TypeVar("T")


WINDOW_DAYS_DEFAULT = 28


WINDOW_DAYS_MAX = 90


DAY_US = 86_400_000_000


class OverrideBody(msgspec.Struct):
    field: str
    action: str
    payload: dict[str, Any] | None = None


class _Split(msgspec.Struct):
    split_turn_idx: Annotated[int, msgspec.Meta(ge=0, le=2**31)]


class _Rename(msgspec.Struct):
    new_label: Annotated[str, msgspec.Meta(max_length=60)]


class _SetIntent(msgspec.Struct):
    intent_class: Intent


class Overridden(msgspec.Struct, rename="camel"):
    sub_session_id: UUID
    field: str
    action: str


_BODY_DECODER = msgspec.json.Decoder(OverrideBody)


async def override(service: Service, request: Request, caller: Principal, sub_session_id: str) -> TrioResponse:
    """Takes a person's word against what was judged; answers the sub-session's id as it is from then on.

    Whatever is wrong, the id too, is a 400.
    """
    body = await read_json(request, _BODY_DECODER)
    act = _action(body)
    wanted = _id(sub_session_id)
    found = await service.read(caller.scope, overridable, wanted)
    if found is None:
        raise _unknown(sub_session_id)
    reply = await service.send(act(caller.scope, found, body.payload or {}))
    if isinstance(reply, Refused):
        raise refusal(reply.reason, reply.message)
    current = await service.read(caller.scope, resolve, wanted)
    return json_reply(Overridden(current or found.sub_session_id, body.field, body.action))


async def accuracy(service: Service, request: Request, caller: Principal) -> TrioResponse:
    """How often people let stand what was judged, in each of the four fields."""
    asked = integer(request.args, "window_days", WINDOW_DAYS_DEFAULT)
    days = min(max(asked, 1), WINDOW_DAYS_MAX)
    return json_reply(await service.read(caller.scope, accuracy_of, days, service.now_us() - days * DAY_US))


def _id(text: str) -> UUID:
    try:
        return UUID(text)
    except ValueError as error:
        raise _unknown(text) from error


def _unknown(text: str) -> HttpError:
    return bad_request(f"no sub-session {text[:40]!r} of yours")


# --- what each action asks for --------------------------------------------------------------------------------

_Act = Callable[[Scope, Overridable, dict[str, Any]], AnyCommand]


def _action(body: OverrideBody) -> _Act:
    legal = _ACTIONS.get(body.field)
    if legal is None:
        raise bad_request(f"field must be one of {', '.join(_ACTIONS)}, not {body.field[:40]!r}")
    act = legal.get(body.action)
    if act is None:
        raise bad_request(f"action of {body.field} must be one of {', '.join(legal)}, not {body.action[:40]!r}")
    return act


def _split(scope: Scope, found: Overridable, payload: dict[str, Any]) -> AnyCommand:
    index, last = _payload(payload, _Split).split_turn_idx, len(found.turns) - 1
    if last < 1:
        raise bad_request("payload.split_turn_idx: the sub-session has one turn; there is nothing to split")
    if not 1 <= index <= last:
        raise bad_request(f"payload.split_turn_idx must be 1 to {last}, the turn that opens the new one, not {index}")
    return CorrectGap(**_about(scope, found.turns[index]), boundary=True)


def _merge(scope: Scope, found: Overridable, payload: dict[str, Any]) -> AnyCommand:
    if found.joins_at is None:
        raise bad_request("there is no earlier sub-session of yours to merge with")
    return CorrectGap(**_about(scope, found.joins_at), boundary=False)


def _goal(complete: bool) -> _Act:
    return lambda scope, found, _: CorrectGoal(**_about(scope, found.turns[0]), complete=complete)


def _rework(rework: bool) -> _Act:
    return lambda scope, found, _: CorrectRework(**_about(scope, found.turns[0]), rework=rework)


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
    return CorrectIntent(**_about(scope, found.turns[0]), intent_class=intent)


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


# `GET /v1/score_v3/sub-sessions/<id>/explain`: why a sub-session is what it is.


async def explain(service: Service, request: Request, caller: Principal, sub_session_id: str) -> TrioResponse:
    """Every part of the conclusion, for people and for programs."""
    wanted = path_id(sub_session_id, "sub-session")
    found = await service.read(caller.scope, explanation, wanted, service.settings.rules_version)
    if found is None:
        raise no_sub_session(wanted)
    return json_reply(found)
