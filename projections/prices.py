"""What the catalog says a request cost, as stage 1 asks for it and as it is stored beside what was observed."""

from typing import Protocol

import msgspec

from aggregates.observation import Observation
from projections.bodies import unpack


class StoredPrice(msgspec.Struct, frozen=True, array_like=True):
    """A price that the agent did not tell: made once, and never again by itself."""

    cost_usd_nano: int
    kind: str
    """`catalog_estimate`, or `catalog_lower_bound` where a part was priced at the lowest rate it can have."""
    catalog_revision: int

    @property
    def is_lower_bound(self) -> bool:
        return self.kind == "catalog_lower_bound"


class Prices(Protocol):
    """The newest valid catalog at some place in the log."""

    def price(
        self,
        model: str,
        at_us: int,
        *,
        input_tokens: int | None,
        output_tokens: int | None,
        cache_read_tokens: int | None,
        cache_write_tokens: int | None,
        cache_write_1h_tokens: int | None,
    ) -> StoredPrice | None:
        """What these tokens cost at that time; None where the catalog does not know."""


def priced(observation: bytes, price: bytes | None) -> Observation:
    """An observation with the cost it was given, where its agent told none."""
    seen = unpack(observation, Observation)
    if price is None:
        return seen
    stored = unpack(price, StoredPrice)
    return msgspec.structs.replace(seen, cost_usd_nano=stored.cost_usd_nano, lower_bound=stored.is_lower_bound)
