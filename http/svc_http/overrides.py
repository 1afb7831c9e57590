"""What a person overrides of a sub-session, and how often people do."""

from collections.abc import Callable
from typing import Annotated, Any, TypeVar
from uuid import UUID

import msgspec
from quart_trio.wrappers import TrioResponse

from aggregates.commands import AnyCommand, CorrectGap, CorrectGoal, CorrectIntent, CorrectRework, EditTitle, Refused
from aggregates.people import Principal
from aggregates.scope import Scope
from aggregates.verdicts import Intent
from projections.overrides import Overridable, Place, overridable
from projections.overrides import accuracy as accuracy_of
from projections.sub_sessions import resolve
from svc_http.bodies import Request, read_json
from svc_http.errors import HttpError, bad_request, refusal
from svc_http.params import integer
from svc_http.ports import Service
from svc_http.replies import json_reply

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
