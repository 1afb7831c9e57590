"""What a request cost by list price, in integer nano-dollars, from one valid snapshot of the catalog.

A rate of one dollar per million tokens is 10^9 femto-dollars a token, so sums are exact; the one rounding, half to
even, is that of the whole sum to nano-dollars.

docs/wire.md says what makes a price a bound. Nothing costs 0 because nobody knows its price: a class of tokens that is
used and has no rate leaves the request without one. Terms multiply what tokens cost, see terms.toml, and no searches.
"""

import re
from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from pkgutil import get_data
from typing import Literal

import msgspec

from aggregates.prices.catalog import ExactLookup, ListRate, Rates, Snapshot, snapshot_fault

Kind = Literal["catalog_estimate", "catalog_lower_bound", "catalog_upper_bound"]
NAMES_REMEMBERED_MAX = 4_096  # ids, as agents report them, whose place in the catalog is remembered
COST_NANO_MAX = 2**63 - 1  # what a table's integer holds: nine billion dollars
_FEMTO_PER_NANO = 10**6
_RATE_UNIT = Decimal(10**9)  # femto-dollars a token for each dollar a million tokens


class Price(msgspec.Struct, frozen=True):
    cost_usd_nano: int
    kind: Kind
    catalog_revision: int


class Usage(msgspec.Struct, frozen=True):
    """What one request is billed for, tokens in classes that do not overlap; None: not observed."""

    input_tokens: int | None
    output_tokens: int | None
    cache_read_tokens: int | None = None
    cache_write_tokens: int | None = None  # all of them, of any duration
    cache_write_1h_tokens: int | None = None
    web_searches: int | None = None
    terms: str | None = None  # as in `speed=fast service_tier=batch`


_RATES = Rates.__struct_fields__  # the names of the classes, in the order of `_FemtoRates`
_FemtoRates = tuple[int | None, ...]  # femto-dollars a token, by class


class _Segment(msgspec.Struct, frozen=True):
    from_us: int
    to_us: int | None
    bands: tuple[tuple[int, _FemtoRates], ...]  # by the input they lie above, the lowest first; none without a rate


class PriceBook:
    def __init__(self, snapshot: Snapshot) -> None:
        self.catalog_revision = snapshot.catalog_revision
        self._lookups = {each.external_model_id: each for each in snapshot.exact_lookups}
        self._segments: dict[str, tuple[_Segment, ...]] = {}
        self.lookup = lru_cache(NAMES_REMEMBERED_MAX)(self._lookup)  # of an id as agents decorate it; None: not listed

    def price(self, model: str, at_us: int, usage: Usage) -> Price | None:
        """None where there is no rate for something that was used, or the counts cannot be."""
        lookup = self.lookup(model)
        if lookup is None and model.lower().endswith(_FAST):
            terms = f"speed=fast {usage.terms or ''}"
            return self.price(model[: -len(_FAST)], at_us, msgspec.structs.replace(usage, terms=terms))
        if lookup is None:
            return None
        if lookup.external_model_id not in self._segments:
            self._segments[lookup.external_model_id] = tuple(map(_segment, lookup.list_rates))
        segments = self._segments[lookup.external_model_id]
        held = (each for each in segments if each.from_us <= at_us and (each.to_us is None or at_us < each.to_us))
        segment = next(held, None)
        return None if segment is None or not segment.bands else self._priced(lookup, segment.bands, usage)

    def _lookup(self, model: str) -> ExactLookup | None:
        plain = next(filter(None, map(self._lookups.get, spellings(model))), None)
        if plain is not None:
            return plain
        # `anthropic/claude-…` names the vendor and its id.
        vendor, _, rest = _DECORATIONS["gateway"].sub("", model.strip().lower()).partition("/")
        found = next(filter(None, map(self._lookups.get, spellings(rest))), None)
        return found if found is not None and found.provider.provider == vendor else None

    def _priced(self, lookup: ExactLookup, bands: tuple[tuple[int, _FemtoRates], ...], usage: Usage) -> Price | None:
        observed = [count for count in msgspec.structs.astuple(usage) if isinstance(count, int)]
        writes, long = usage.cache_write_tokens, usage.cache_write_1h_tokens or 0
        neither = usage.input_tokens is None and usage.output_tokens is None
        if neither or min(observed) < 0 or (writes is not None and long > writes):
            return None
        input_tokens, read = usage.input_tokens or 0, usage.cache_read_tokens or 0
        short = 0 if writes is None else writes - long
        whole_input = input_tokens + read + long + short
        rates = next(rates for above, rates in reversed(bands) if whole_input > above)
        femto = 0
        counts = (input_tokens, usage.output_tokens or 0, read, short, long)
        for tokens, rate in zip(counts, rates, strict=False):
            if tokens and rate is None:
                return None
            femto += tokens * (rate or 0)
        *_, short_rate, long_rate, search_rate = rates
        searches = usage.web_searches or 0
        factor, dearer, cheaper = _factor(lookup.provider.provider, lookup.model.canonical_model_id, usage.terms or "")
        whole = femto * factor + searches * (search_rate or 0)
        cost = round(whole / _FEMTO_PER_NANO)
        if cost > COST_NANO_MAX:
            return None
        part_missing = usage.input_tokens is None or usage.output_tokens is None
        unsure = usage.cache_write_1h_tokens is None and short > 0
        dearer |= part_missing or (unsure and long_rate is not None and long_rate != short_rate)
        dearer |= searches > 0 and search_rate is None
        if dearer and cheaper:
            return None
        kind: Kind = "catalog_lower_bound" if dearer else "catalog_upper_bound" if cheaper else "catalog_estimate"
        return Price(cost, kind, self.catalog_revision)


_TERMS = msgspec.toml.decode(get_data(__name__, "terms.toml") or b"")


@lru_cache(NAMES_REMEMBERED_MAX)
def _factor(provider: str | None, model: str | None, told: str) -> tuple[Fraction, bool, bool]:
    """By what terms multiply list prices; whether terms of an unknown factor make it dearer, and whether cheaper."""
    factor, unknown = Fraction(1), set()
    factors: dict[str, dict[str, float]] = _TERMS.get(provider or "", {})
    for term in set(told.split()):
        known = next((by_model for terms, by_model in factors.items() if term in terms.split()), dict[str, float]())
        one = known.get(model or "any", known.get("any"))
        if one is None:
            unknown.add(term in _TERMS["discounts"])
        else:
            factor *= Fraction(str(one))
    return factor, False in unknown, True in unknown


@lru_cache(maxsize=4)
def price_book(snapshot: Snapshot) -> PriceBook | None:
    """The prices of a snapshot; None where it is not valid, and the one before it goes on."""
    return PriceBook(snapshot) if snapshot_fault(snapshot) is None else None


def _segment(each: ListRate) -> _Segment:
    if each.rate is None:
        return _Segment(each.from_us, each.to_us, ())
    long = tuple((band.above_input_tokens, _femto(band)) for band in each.rate.long_context)
    return _Segment(each.from_us, each.to_us, ((-1, _femto(each.rate)), *long))


def _femto(rates: Rates) -> _FemtoRates:
    # By the shortest decimal form of a rate, which is what was published.
    told = (getattr(rates, name) for name in _RATES)
    exact = (None if rate is None else Decimal(repr(rate)) * _RATE_UNIT for rate in told)
    return tuple(None if rate is None else int(rate.to_integral_value()) for rate in exact)


_FAST = "-fast"
_SPELLINGS = msgspec.toml.decode(get_data(__name__, "spellings.toml") or b"", type=dict[str, str])
_DECORATIONS = {name: re.compile(each) for name, each in _SPELLINGS.items()}


def spellings(model: str) -> Iterator[str]:
    """The ids to look for, the one reported first; repeats are possible."""
    yield model
    text = _DECORATIONS["window"].sub("", model.strip().lower())
    yield text
    text = _DECORATIONS["path"].sub("", _DECORATIONS["gateway"].sub("", text))
    yield text
    if _DECORATIONS["id of bedrock"].match(text):
        text = _DECORATIONS["version of bedrock"].sub("", text)
        yield text
    yield _DECORATIONS["date"].sub("", text)
