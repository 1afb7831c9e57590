"""The keeper of a running service: carries out orders to forget, and takes away what has outlived its retention."""

from math import inf

import structlog
import trio

from svc.actors.administration import Administration
from svc.limits import ORDERS_SECONDS, RESTART_SECONDS_MAX, RETENTION_SECONDS, RETENTION_YOUNG_EVENTS
from svc.maintenance.delete_texts import House, aside
from svc.maintenance.forget import Forgetting, open_orders
from svc.maintenance.retention import Retention
from svc.views.rebuilding import Rebuilding

log = structlog.get_logger()


class Keeper:
    """One task of the service."""

    def __init__(self, house: House, administration: Administration, rebuilding: Rebuilding) -> None:
        self._house = house
        self._administration = administration
        self._forgetting = Forgetting(house, administration, rebuilding)
        self._retention = Retention(house)

    async def follow_orders(self) -> None:
        """Carry out orders to forget, those first that were broken off; until cancelled."""
        position = -1
        while True:
            try:
                await self._house.journal.wait_beyond(position)
                position = self._house.journal.head
                for order in await aside(lambda: open_orders(self._house.store)):
                    await self._forgetting.carry_out(order)
                await trio.sleep(ORDERS_SECONDS)
            except Exception:
                position = -1
                log.exception("an order to forget somebody could not be carried out; it is tried again")
                await trio.sleep(RESTART_SECONDS_MAX)

    async def keep_terms(self) -> None:
        """Take away what is too old, at once and then every hour; until cancelled."""
        while True:
            try:
                await self.keep_terms_once(RETENTION_YOUNG_EVENTS)
            except Exception:
                log.exception("what has outlived its retention could not be taken away; it is tried again")
            await trio.sleep(RETENTION_SECONDS)

    async def keep_terms_once(self, young_max: float = inf) -> int:
        """Take away what is too old by now; how many facts lost a text. `young_max`: see `Retention`."""
        return await self._retention.keep_terms(self._administration.directory, young_max)
