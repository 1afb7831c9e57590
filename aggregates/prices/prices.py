"""What a request cost by list price, in integer nano-dollars, from one valid snapshot of the catalog.

A rate of one dollar per million tokens is 10^9 femto-dollars a token, so sums are exact; the one rounding, half to
even, is that of the whole sum to nano-dollars.

The rules, besides those of the catalog's own fields:
- Token classes do not overlap: `input_tokens` leave the cache out. Long context is decided by all input, read from and
  written to the cache included, as the providers count it; then the whole request moves band.
- A class that is used and has no rate leaves the request unpriced; nothing costs 0 because nobody knows its price.
- Cache counts that were not observed are taken as none: agents leave them out where there is no cache. Where only input
  or only output was observed, the other cost something unknown: a lower bound. Where neither was: unpriced.
- Cache writes of unknown duration go at the five-minute rate, which makes a lower bound where an hour costs more.
"""

import re
from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from typing import Literal

import msgspec

from aggregates.prices.catalog import ExactLookup, ListRate, Rates, Snapshot, snapshot_fault

Kind = Literal["catalog_estimate", "catalog_lower_bound"]
NAMES_REMEMBERED_MAX = 4_096  # ids, as agents report them, whose place in the catalog is remembered
COST_NANO_MAX = 2**63 - 1  # what a table's integer holds: nine billion dollars
_FEMTO_PER_NANO = 10**6
_RATE_UNIT = Decimal(10**9)  # femto-dollars a token for each dollar a million tokens


class Price(msgspec.Struct, frozen=True):
    cost_usd_nano: int
    kind: Kind
    catalog_revision: int


class Unpriced(msgspec.Struct, frozen=True):
    reason: str  # a short code, or the catalog's own reason


class Usage(msgspec.Struct, frozen=True):
    """Tokens of one request, in classes that do not overlap; None: not observed."""

    input_tokens: int | None
    output_tokens: int | None
    cache_read_tokens: int | None = None
    cache_write_tokens: int | None = None  # all of them, of any duration
    cache_write_1h_tokens: int | None = None


_RATES = Rates.__struct_fields__  # the names of the classes, in the order of `_FemtoRates`
_FemtoRates = tuple[int | None, ...]  # femto-dollars a token, by class


class _Segment(msgspec.Struct, frozen=True):
    from_us: int
    to_us: int | None
    bands: tuple[tuple[int, _FemtoRates], ...]  # by the input they lie above, the lowest first
    reason: str | None  # why there are none


class PriceBook:
    def __init__(self, snapshot: Snapshot) -> None:
        self.catalog_revision = snapshot.catalog_revision
        self._lookups = {each.external_model_id: each for each in snapshot.exact_lookups}
        self._segments: dict[str, tuple[_Segment, ...]] = {}
        self.lookup = lru_cache(NAMES_REMEMBERED_MAX)(self._lookup)  # of an id as agents decorate it; None: not listed

    def price(self, model: str, at_us: int, usage: Usage) -> Price | Unpriced:
        lookup = self.lookup(model)
        if lookup is None:
            return Unpriced("unknown_model")
        if not lookup.list_rates and lookup.model.status != "known":
            return Unpriced(f"{lookup.model.status}_model")
        if not lookup.list_rates:
            served = lookup.provider
            return Unpriced("no_list_price" if served.provider is not None else f"{served.status}_provider")
        if lookup.external_model_id not in self._segments:
            self._segments[lookup.external_model_id] = tuple(map(_segment, lookup.list_rates))
        segments = self._segments[lookup.external_model_id]
        held = (each for each in segments if each.from_us <= at_us and (each.to_us is None or at_us < each.to_us))
        segment = next(held, None)
        if segment is None:
            return Unpriced("no_list_price_at_that_time")
        return self._priced(segment.bands, usage) if segment.reason is None else Unpriced(segment.reason)

    def _lookup(self, model: str) -> ExactLookup | None:
        plain = next(filter(None, map(self._lookups.get, spellings(model))), None)
        if plain is not None:
            return plain
        # `anthropic/claude-…` names the vendor and its id.
        vendor, _, rest = model.strip().lower().partition("/")
        found = next(filter(None, map(self._lookups.get, spellings(rest))), None)
        return found if found is not None and found.provider.provider == vendor else None

    def _priced(self, bands: tuple[tuple[int, _FemtoRates], ...], usage: Usage) -> Price | Unpriced:
        if usage.input_tokens is None and usage.output_tokens is None:
            return Unpriced("no_tokens_observed")
        observed = [count for count in msgspec.structs.astuple(usage) if count is not None]
        writes, long = usage.cache_write_tokens, usage.cache_write_1h_tokens or 0
        if min(observed) < 0 or (writes is not None and long > writes):
            return Unpriced("inconsistent_token_counts")
        input_tokens, read = usage.input_tokens or 0, usage.cache_read_tokens or 0
        short = 0 if writes is None else writes - long
        whole_input = input_tokens + read + long + short
        rates = next(rates for above, rates in reversed(bands) if whole_input > above)
        femto = 0
        counts = (input_tokens, usage.output_tokens or 0, read, short, long)
        for name, tokens, rate in zip(_RATES, counts, rates, strict=True):
            if tokens and rate is None:
                return Unpriced(f"no_{name}_rate")
            femto += tokens * (rate or 0)
        cost = round(Fraction(femto, _FEMTO_PER_NANO))
        if cost > COST_NANO_MAX:
            return Unpriced("implausible_token_count")
        *_, short_rate, long_rate = rates
        part_missing = usage.input_tokens is None or usage.output_tokens is None
        unsure = usage.cache_write_1h_tokens is None and short > 0
        lower = part_missing or (unsure and long_rate is not None and long_rate != short_rate)
        return Price(cost, "catalog_lower_bound" if lower else "catalog_estimate", self.catalog_revision)


@lru_cache(maxsize=4)
def price_book(snapshot: Snapshot) -> PriceBook | None:
    """The prices of a snapshot; None where it is not valid, and the one before it goes on."""
    return PriceBook(snapshot) if snapshot_fault(snapshot) is None else None


def _segment(each: ListRate) -> _Segment:
    if each.rate is None:
        return _Segment(each.from_us, each.to_us, (), each.unpriced_reason)
    long = tuple((band.above_input_tokens, _femto(band)) for band in each.rate.long_context)
    return _Segment(each.from_us, each.to_us, ((-1, _femto(each.rate)), *long), None)


def _femto(rates: Rates) -> _FemtoRates:
    dollars = (getattr(rates, name) for name in _RATES)
    # By the shortest decimal form of a rate, which is what was published.
    return tuple(
        None if rate is None else int((Decimal(repr(rate)) * _RATE_UNIT).to_integral_value()) for rate in dollars
    )


# How agents decorate the ids of models, and how the decoration comes off again: a fixed list, tried in this order after
# the id as it is, each on what the one before it left. Nothing is guessed: somebody writes every form below, and it
# names the same model at the same list price. A catalog that lists the decorated id itself is asked for that first.
#
# `GPT-5`: case does not matter. `…[1m]`: Claude Code's long context window. `models/…`, `publishers/google/models/…`,
# `arn:aws:bedrock:…/…`: a path. `us.anthropic.claude-…-v1:0`: Bedrock's packaging. `…-20250929`, `…-latest`: dated.

_WINDOW = re.compile(r"\[1m\]$")
_PATH = re.compile(r"^(?:models|publishers|projects|arn:aws[^/]*)/(?:.*/)?")
_BEDROCK_ID = re.compile(r"^(?:[a-z-]{2,8}\.)?[a-z]+\.[a-z]")
_BEDROCK_VERSION = re.compile(r"(?:-v\d{1,2})?(?::\d{1,2})?$")
_DATED = re.compile(r"[-@](?:20\d{6}|20\d{2}-\d{2}-\d{2}|latest|default)$")


def spellings(model: str) -> Iterator[str]:
    """The ids to look for, the one reported first; repeats are possible."""
    yield model
    text = _WINDOW.sub("", model.strip().lower())
    yield text
    text = _PATH.sub("", text)
    yield text
    if _BEDROCK_ID.match(text):
        text = _BEDROCK_VERSION.sub("", text)
        yield text
    yield _DATED.sub("", text)
