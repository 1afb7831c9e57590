"""`POST /v1/import`: what `svc import --url` has read from an agent's session files on another machine.

The exchanges become the same commands as in an import beside the log, so a second run of either finds them known.
"""

from collections.abc import Iterator
from functools import partial
from typing import Annotated, Literal

import msgspec

from aggregates.records.record import COUNT_MAX, LABEL_CHARACTERS_MAX, USD_MAX, Record
from aggregates.telemetry.exchanges import Exchange, Taken
from aggregates.telemetry.steps import Sender, Step, steps
from aggregates.times import INSTANT_MAX_US
from svc_http.bodies import FRAME_BYTES_MAX, HttpError
from svc_http.lane import beside
from svc_http.params import ByKey
from svc_http.routing import Routes

EXCHANGES_MAX = 1_000
_MOST = {"at_us": INSTANT_MAX_US - 1, "cost_usd_nano": USD_MAX * 10**9, "status_code": 999}
"""Of figures that are no counts."""
routes = Routes("intake")


class ImportBody(msgspec.Struct):
    source: Literal["claude-code", "codex", "gemini", "copilot"]
    exchanges: Annotated[list[Exchange], msgspec.Meta(max_length=EXCHANGES_MAX)]


class Imported(msgspec.Struct):
    exchanges: list[Taken]  # one for each, in their order


_ABOUT = "Import exchanges of an agent's session files; each is on disk then, or refused with its reason."


@routes("POST /v1/import", _ABOUT)
async def import_exchanges(call: ByKey, body: ImportBody) -> Imported:
    """After a 503 the whole body is sent again: what is on disk is known then."""
    await beside(call.body.cpu, FRAME_BYTES_MAX, partial(_check_all, body.exchanges))
    sender = Sender(call.scope, body.source, call.service.digester(call.scope))
    return Imported([await _imported(call, each, sender) for each in body.exchanges])


def _check_all(exchanges: list[Exchange]) -> None:
    for place, exchange in enumerate(exchanges):
        for draft in exchange.drafts:
            _check(draft.record, place)


def _check(record: Record, place: int) -> None:
    """Refuse what no agent says. A record's texts are made here, of those beside it."""
    for name in record.__struct_fields__:
        value = getattr(record, name)
        if isinstance(value, str):
            right = len(value) <= LABEL_CHARACTERS_MAX and bool(value.strip() or name != "record_id")
        elif isinstance(value, int) and not isinstance(value, bool):
            right = 0 <= value <= _MOST.get(name, COUNT_MAX)
        else:
            continue
        if not right or name == "origin":
            raise HttpError(400, f"$.exchanges[{place}]: a record's {name} is out of its bounds")


async def _imported(call: ByKey, exchange: Exchange, sender: Sender) -> Taken:
    taken = Taken()
    following: Iterator[Step] = steps(exchange, sender)
    # Taking secrets out of records takes processor time.
    while step := await beside(call.body.cpu, FRAME_BYTES_MAX, partial(next, following, None)):
        if not taken.heard(step.what, await call.service.send(step.command)):
            break
    return taken
