"""Events of the price catalog."""

from typing import ClassVar
from uuid import UUID

from aggregates.event import Event
from aggregates.prices.catalog import Snapshot


class CatalogPublished(Event, frozen=True, kw_only=True, omit_defaults=True):
    """These list prices are known from now on; its version in the stream is the catalog's revision."""

    TOPIC: ClassVar[str] = "catalog.published"
    source: str
    """Where the prices came from: `genai-prices 0.2.3`, the name of a file, an address."""
    snapshot: Snapshot


class RequestsRepriced(Event, frozen=True, kw_only=True, omit_defaults=True):
    """Requests of an organization that have no price yet get one of this revision; those that have keep theirs."""

    TOPIC: ClassVar[str] = "requests.repriced"
    organization_id: UUID
    catalog_revision: int
    from_us: int
    to_us: int
    """Half-open: requests made from the one up to the other."""


PRICES: tuple[type[Event], ...] = (CatalogPublished, RequestsRepriced)
