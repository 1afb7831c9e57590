"""What a request cost by list price, in integer nano-dollars, from one valid snapshot of the catalog.

A rate of one dollar per million tokens is 10^9 femto-dollars a token, so sums are exact; the one rounding, half to
even, is that of the whole sum to nano-dollars.

The rules, beside those of the catalog's own fields:
- Token classes do not overlap: `input_tokens` are those beside the cache. What decides about long context is all input,
  read from and written to the cache included, as the providers count it; then the whole request moves band.
- A class that is used and has no rate leaves the request unpriced; nothing costs 0 because nobody knows its price.
- Cache counts that were not observed are taken as none: agents leave them out where there is no cache. Where only input
  or only output was observed, the other cost something unknown: a lower bound. Where neither was: unpriced.
- Cache writes of unknown duration go at the five-minute rate, which makes a lower bound where an hour costs more.
"""

from bisect import bisect_right
from decimal import Decimal
from functools import lru_cache
from typing import Literal

import msgspec

from aggregates.prices.catalog import (
    AmbiguousModel,
    AmbiguousProvider,
    ExactLookup,
    InferredProvider,
    ListRate,
    ObservedProvider,
    Rates,
    Snapshot,
    UnknownModel,
    UnknownProvider,
    bounds_us,
    snapshot_fault,
)
from aggregates.records.models import spellings, vendor_and_rest

Kind = Literal["catalog_estimate", "catalog_lower_bound"]

NAMES_REMEMBERED_MAX = 4_096
"""Ids, as agents report them, whose place in the catalog is remembered."""
COST_NANO_MAX = 2**63 - 1
"""What a table's integer holds: nine billion dollars."""

_FEMTO_PER_NANO = 10**6
_RATE_UNIT = Decimal(10**9)
"""Femto-dollars a token for each dollar a million tokens."""


class Price(msgspec.Struct, frozen=True):
    """What a request cost."""

    cost_usd_nano: int
    kind: Kind
    catalog_revision: int


class Unpriced(msgspec.Struct, frozen=True):
    """Why a request has no price: a short code, or the catalog's own reason."""

    reason: str


class Usage(msgspec.Struct, frozen=True, kw_only=True):
    """Tokens of one request, in classes that do not overlap; None: not observed."""

    input_tokens: int | None
    output_tokens: int | None
    cache_read_tokens: int | None = None
    cache_write_tokens: int | None = None
    """All of them, of any duration."""
    cache_write_1h_tokens: int | None = None
    """Those kept for an hour; None: how many is not known."""


class _Rates(msgspec.Struct, frozen=True):
    """Femto-dollars a token."""

    input: int | None
    output: int | None
    cache_read: int | None
    cache_write_5m: int | None
    cache_write_1h: int | None


class _Times(msgspec.Struct, frozen=True):
    """The prices of one id: from when, up to when, and the rates by the least input they hold for."""

    from_us: tuple[int, ...]
    to_us: tuple[int | None, ...]
    rates: tuple[tuple[tuple[int, _Rates], ...] | str, ...]
    """Bands by the input they lie above, the lowest first; or why there are none."""


class PriceBook:
    """The prices of one valid snapshot."""

    def __init__(self, snapshot: Snapshot) -> None:
        self.catalog_revision = snapshot.catalog_revision
        self._lookups = {each.external_model_id: each for each in snapshot.exact_lookups}
        self._times: dict[str, _Times] = {}
        self._found: dict[str, ExactLookup | None] = {}

    def price(
        self,
        model: str,
        at_us: int,
        *,
        input_tokens: int | None,
        output_tokens: int | None,
        cache_read_tokens: int | None = None,
        cache_write_tokens: int | None = None,
        cache_write_1h_tokens: int | None = None,
    ) -> Price | Unpriced:
        """What these tokens of a model, as its agent named it, cost at that time."""
        lookup = self.lookup(model)
        if lookup is None:
            return Unpriced("unknown_model")
        usage = Usage(
            input_tokens=input_tokens,
            output_tokens=output_tokens,
            cache_read_tokens=cache_read_tokens,
            cache_write_tokens=cache_write_tokens,
            cache_write_1h_tokens=cache_write_1h_tokens,
        )
        bands = self._bands(lookup, at_us)
        if isinstance(bands, str):
            return Unpriced(bands)
        fault = _usage_fault(usage)
        return self._priced(bands, usage) if fault is None else Unpriced(fault)

    def lookup(self, model: str) -> ExactLookup | None:
        """What the catalog says of an id, decorated as agents do it; None where it is not listed."""
        # Another thread may use the same book: what is remembered may be gone at the next line.
        try:
            return self._found[model]
        except KeyError:
            found = self._look_up(model)
        if len(self._found) >= NAMES_REMEMBERED_MAX:
            self._found.clear()
        self._found[model] = found
        return found

    def _look_up(self, model: str) -> ExactLookup | None:
        found = self._listed(model)
        named = vendor_and_rest(model)
        if found is not None or named is None:
            return found
        vendor, rest = named
        found = self._listed(rest)
        match found.provider if found is not None else None:
            case ObservedProvider(provider=provider) | InferredProvider(provider=provider) if provider == vendor:
                return found
        return None

    def _listed(self, model: str) -> ExactLookup | None:
        return next((self._lookups[each] for each in spellings(model) if each in self._lookups), None)

    def _bands(self, lookup: ExactLookup, at_us: int) -> tuple[tuple[int, _Rates], ...] | str:
        """The rates of an id at a time, or why there are none."""
        if not lookup.list_rates:
            return _why_undetermined(lookup) or "no_list_price"
        times = self._times.get(lookup.external_model_id)
        if times is None:
            times = self._times[lookup.external_model_id] = _times(lookup.list_rates)
        number = bisect_right(times.from_us, at_us) - 1
        to_us = times.to_us[number] if number >= 0 else at_us
        if to_us is not None and to_us <= at_us:
            return "no_list_price_at_that_time"
        return times.rates[number]

    def _priced(self, bands: tuple[tuple[int, _Rates], ...], usage: Usage) -> Price | Unpriced:
        input_tokens, read = usage.input_tokens or 0, usage.cache_read_tokens or 0
        long, short, unsure = _writes(usage)
        whole_input = input_tokens + read + long + short
        rates = next(rates for above, rates in reversed(bands) if whole_input > above)
        parts = (
            ("input", input_tokens, rates.input),
            ("output", usage.output_tokens or 0, rates.output),
            ("cache_read", read, rates.cache_read),
            ("cache_write_5m", short, rates.cache_write_5m),
            ("cache_write_1h", long, rates.cache_write_1h),
        )
        femto = 0
        for name, tokens, rate in parts:
            if tokens and rate is None:
                return Unpriced(f"no_{name}_rate")
            femto += tokens * (rate or 0)
        cost = _rounded(femto)
        if cost > COST_NANO_MAX:
            return Unpriced("implausible_token_count")
        dearer = rates.cache_write_1h is not None and rates.cache_write_1h != rates.cache_write_5m
        part_missing = usage.input_tokens is None or usage.output_tokens is None
        lower = part_missing or (unsure and dearer)
        return Price(cost, "catalog_lower_bound" if lower else "catalog_estimate", self.catalog_revision)


@lru_cache(maxsize=4)
def price_book(snapshot: Snapshot) -> PriceBook | None:
    """The prices of a snapshot; None where it is not valid, and the one before it goes on."""
    return PriceBook(snapshot) if snapshot_fault(snapshot) is None else None


def _usage_fault(usage: Usage) -> str | None:
    if usage.input_tokens is None and usage.output_tokens is None:
        return "no_tokens_observed"
    counts = msgspec.structs.astuple(usage)
    writes, long = usage.cache_write_tokens, usage.cache_write_1h_tokens
    if any(count is not None and count < 0 for count in counts) or (writes is not None and (long or 0) > writes):
        return "inconsistent_token_counts"
    return None


def _writes(usage: Usage) -> tuple[int, int, bool]:
    """Cache writes for an hour, those at the five-minute rate, and whether their duration is unknown."""
    long = usage.cache_write_1h_tokens
    writes = (long or 0) if usage.cache_write_tokens is None else usage.cache_write_tokens
    return long or 0, writes - (long or 0), long is None and writes > 0


def _why_undetermined(lookup: ExactLookup) -> str | None:
    match lookup.model, lookup.provider:
        case AmbiguousModel(), _:
            return "ambiguous_model"
        case UnknownModel(), _:
            return "unknown_model"
        case _, AmbiguousProvider():
            return "ambiguous_provider"
        case _, UnknownProvider():
            return "unknown_provider"
    return None


def _times(list_rates: tuple[ListRate, ...]) -> _Times:
    bounds = [bounds_us(each) for each in list_rates]
    return _Times(
        tuple(from_us for from_us, _ in bounds),
        tuple(to_us for _, to_us in bounds),
        tuple(_bands_of(each) for each in list_rates),
    )


def _bands_of(each: ListRate) -> tuple[tuple[int, _Rates], ...] | str:
    if each.rate is None:
        return each.unpriced_reason or ""
    long = tuple((band.above_input_tokens, _femto(band)) for band in each.rate.long_context)
    return ((-1, _femto(each.rate)), *long)


def _femto(rates: Rates) -> _Rates:
    return _Rates(
        *map(
            _per_token,
            (rates.input, rates.output, rates.cache_read, rates.cache_write_5m, rates.cache_write_1h),
        )
    )


def _per_token(rate: float | None) -> int | None:
    """By its shortest decimal form, which is what was published."""
    return None if rate is None else int((Decimal(repr(rate)) * _RATE_UNIT).to_integral_value())


def _rounded(femto: int) -> int:
    """Nano-dollars, half to even."""
    whole, rest = divmod(femto, _FEMTO_PER_NANO)
    half = _FEMTO_PER_NANO // 2
    return whole + (rest > half or (rest == half and whole % 2 == 1))
