"""Backfills: an owner, or an administrator, has sub-sessions of a range judged again."""

import uuid
from uuid import UUID
from zoneinfo import ZoneInfo

import msgspec
from quart_trio.wrappers import TrioResponse

from aggregates.backfills import BackfillRecord, StartBackfill, show_backfill
from aggregates.commands import Refused
from aggregates.people import Principal
from aggregates.people_records import Membership, Organization
from aggregates.windows import RangeRefused, Window, time_range
from projections.rejudging import count_started
from svc_http.bodies import Request, read_json
from svc_http.errors import bad_request, forbidden, not_found, refusal
from svc_http.params import limit, zone_of
from svc_http.ports import Service
from svc_http.replies import json_reply


class BackfillBody(msgspec.Struct, rename={"from_time": "from"}):
    """Times, or bare dates of the zone in the caller's profile; a bare end includes its day."""

    from_time: str
    to: str
    developer_id: UUID | None = None


class AdminBackfillBody(BackfillBody, rename={"from_time": "from"}, kw_only=True):
    """The same for an organization that is named; bare dates are UTC."""

    organization_id: UUID


_DECODER = msgspec.json.Decoder(BackfillBody)
_ADMIN_DECODER = msgspec.json.Decoder(AdminBackfillBody)


async def backfill(service: Service, request: Request, caller: Principal) -> TrioResponse:
    """202 with the backfill of the caller's organization that now runs; for owners."""
    if caller.role != "owner":
        raise forbidden("a backfill is for owners of the organization")
    body = await read_json(request, _DECODER)
    record = await _begun(service, caller.scope.organization_id, body, zone_of(service, caller))
    return json_reply(record, 202)


async def start(service: Service, request: Request) -> TrioResponse:
    """The same by an administrator, for any organization."""
    body = await read_json(request, _ADMIN_DECODER)
    if service.directory.get(Organization, body.organization_id) is None:
        raise not_found(f"no organization {body.organization_id}")
    return json_reply(await _begun(service, body.organization_id, body, ZoneInfo("UTC")), 202)


async def listed(service: Service, request: Request) -> TrioResponse:
    """Every backfill, the newest first, and how far each has come."""
    return json_reply([show_backfill(each) for each in service.backfills()[: limit(request.args)]])


async def _begun(service: Service, organization_id: UUID, body: BackfillBody, zone: ZoneInfo) -> BackfillRecord:
    window = _window(service, body, zone)
    if body.developer_id is not None and not _ever_member(service, organization_id, body.developer_id):
        raise not_found(f"no developer {body.developer_id} in the organization")
    asked = (organization_id, body.developer_id, window.start_us, window.end_us)
    count = await service.read_all(lambda reader: count_started(reader, *asked))
    reply = await service.start_backfill(
        StartBackfill(
            backfill_id=uuid.uuid4(),
            organization_id=organization_id,
            developer_id=body.developer_id,
            from_us=window.start_us,
            to_us=window.end_us,
            sub_sessions=count,
        )
    )
    if isinstance(reply, Refused):
        raise refusal(reply.reason, reply.message)
    return show_backfill(reply)


def _window(service: Service, body: BackfillBody, zone: ZoneInfo) -> Window:
    found = time_range(body.from_time, body.to, zone, service.now_us())
    if isinstance(found, RangeRefused):
        raise bad_request(f"$: {found.message}")
    return found


def _ever_member(service: Service, organization_id: UUID, developer_id: UUID) -> bool:
    """Who has left has sub-sessions all the same."""
    stays = service.directory.all(Membership)
    return any((each.organization_id, each.developer_id) == (organization_id, developer_id) for each in stays)
