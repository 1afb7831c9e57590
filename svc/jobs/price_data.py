"""The maintained price data of genai-prices, compiled into exact lookups.

The data holds rules (`starts with`, `contains`). Every id that a rule spells out is listed where its own provider's
rules find a model for it. Resellers are left out: their ids say nothing about who serves them, or are the maker's.
"""

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from decimal import Decimal

from genai_prices import types as upstream
from genai_prices.data import providers
from genai_prices.data_snapshot import DataSnapshot
from pydantic import ConfigDict, TypeAdapter

from aggregates.prices.catalog import (
    TEXT_CHARACTERS_MAX,
    Band,
    ExactLookup,
    ListRate,
    Model,
    Provider as Serving,
    Rate,
    Rates,
)
from aggregates.times import INSTANT_MIN_US, iso, midnight_us

BEDROCK = "aws"
BEDROCK_REGIONS = ("us", "eu", "apac", "jp", "au", "in", "ca", "us-gov", "global")
"""What may stand before a Bedrock id; prices differ between `global` and the others."""
BEDROCK_AGENT_VENDORS = ("anthropic.", "openai.")  # whose models agents reach through regional profiles
EXTRA_IDS = (  # in use, though no rule spells them out, and their decoration is no mere date
    "gemini-2.5-pro-preview-03-25",
    "gemini-2.5-pro-preview-05-06",
    "gemini-2.5-pro-preview-06-05",
    "gemini-2.5-pro-exp-03-25",
)
_BEDROCK_ID = re.compile(rf"(?:(?:regional|{'|'.join(BEDROCK_REGIONS)})\.)*([a-z]+\.[a-z]\S*?)(?:-v\d+)?(?::\d+)?")
"""Its plain form is without a region and without the version of its packaging."""
_UNFINISHED = re.compile(r".*[-_.:@]|.*[-@]20\d{2}(?:-\d{2})?")  # the beginning of an id: a rule for anything dated
_SEARCHES = "web_searches_kcount"
_KEYS = ("input_mtok", "output_mtok", "cache_read_mtok", "cache_write_mtok", "cache_write_1h_mtok", _SEARCHES)


def packaged() -> DataSnapshot:
    return DataSnapshot(providers, from_auto_update=False)


def parsed(raw_providers: list[object]) -> DataSnapshot:
    """The data as published on the network. Raises `ValueError` where it is not of that form."""
    published = TypeAdapter(list[upstream.Provider], config=ConfigDict(arbitrary_types_allowed=True))
    return DataSnapshot(published.validate_python(_with_prices(raw_providers)), from_auto_update=False)


def _with_prices(value: object) -> object:
    match value:  # A `ModelPrice` is a plain class, which pydantic takes as it is
        case list():
            return [_with_prices(each) for each in value]
        case dict():
            priced = {name: _with_prices(each) for name, each in value.items()}
            if isinstance(value.get("prices"), dict):
                priced["prices"] = upstream.ModelPrice(**_PRICES.validate_python(value["prices"]))
            return priced
    return value


_PRICES = TypeAdapter(dict[str, Decimal | upstream.TieredPrices | None])


def data_date_us(data: DataSnapshot, now_us: int) -> int:
    """The data's own date: that of the newest price change it tells of, coming ones left aside."""
    days = (day_us for provider in data.providers for model in provider.models for day_us in _changes_us(model))
    return max((day_us for day_us in days if day_us <= now_us), default=now_us)


def compiled(data: DataSnapshot) -> tuple[ExactLookup, ...]:
    found: dict[str, ExactLookup] = {}
    for provider in data.providers:
        lookups = _bedrock(provider) if provider.id == BEDROCK else _maker(data, provider)
        found |= {each.external_model_id: each for each in lookups}
    return tuple(found[model_id] for model_id in sorted(found))


def _maker(data: DataSnapshot, provider: upstream.Provider) -> Iterator[ExactLookup]:
    """The ids that lead to this provider without naming it."""
    if provider.model_match is None:
        return
    rates: dict[str, tuple[ListRate, ...]] = {}
    for model_id in _candidates(provider):
        try:
            chosen, model = data.find_provider_model(model_id, None, None, None)
        except LookupError:
            continue
        if chosen is provider:
            if model.id not in rates:
                rates[model.id] = _list_rates(model)
            serving = Serving(status="catalog_inferred", provider=provider.id)
            yield _lookup(model_id, model, serving, rates[model.id])


def _bedrock(provider: upstream.Provider) -> Iterator[ExactLookup]:
    """The ids of Bedrock: `anthropic.…`, and the same for a region."""
    plain = {found[1] for model_id in _candidates(provider) if (found := _BEDROCK_ID.fullmatch(model_id))}
    by_agents = {model_id for model_id in plain if model_id.startswith(BEDROCK_AGENT_VENDORS)}
    regional = {f"{region}.{model_id}" for region in BEDROCK_REGIONS for model_id in by_agents}
    for model_id in plain | regional:
        if (model := provider.find_model(model_id)) is not None:
            yield _lookup(model_id, model, Serving(status="observed", provider=provider.id), _list_rates(model))


def _lookup(model_id: str, model: upstream.ModelInfo, provider: Serving, rates: tuple[ListRate, ...]) -> ExactLookup:
    known = Model(status="known", canonical_model_id=model.id, display_name=model.name or model.id)
    return ExactLookup(external_model_id=model_id, model=known, provider=provider, list_rates=rates)


def _candidates(provider: upstream.Provider) -> set[str]:
    """Whatever the provider's rules spell out and could be an id, in lower case: matching ignores case."""
    texts = {text for model in provider.models for text in (model.id, *_literals(model.match))}
    plain = {text.lower() for text in (*texts, *EXTRA_IDS)}
    return {text for text in plain if len(text) <= TEXT_CHARACTERS_MAX and not _UNFINISHED.fullmatch(text)}


def _literals(clause: upstream.MatchLogic) -> Iterator[str]:
    match clause:
        case upstream.ClauseEquals(equals=text) | upstream.ClauseStartsWith(starts_with=text):
            yield text
        case upstream.ClauseContains(contains=text) | upstream.ClauseEndsWith(ends_with=text):
            yield text
        case upstream.ClauseOr(or_=clauses) | upstream.ClauseAnd(and_=clauses):
            for each in clauses:
                yield from _literals(each)


def _list_rates(model: upstream.ModelInfo) -> tuple[ListRate, ...]:
    """The model's prices in the order of time; neighbours that say the same are one."""
    segments: list[tuple[int, Rate | str]] = []
    for start_us in sorted({INSTANT_MIN_US, *_changes_us(model)}):
        rate = _rate_on(model, start_us)
        if not segments or segments[-1][1] != rate:
            segments.append((start_us, rate))
    ends = [*(iso(start_us) for start_us, _ in segments[1:]), None]
    return tuple(
        ListRate(
            effective_from=iso(start_us),
            effective_to=end,
            rate=rate if isinstance(rate, Rate) else None,
            unpriced_reason=None if isinstance(rate, Rate) else rate,
        )
        for (start_us, rate), end in zip(segments, ends, strict=True)
    )


def _conditions(model: upstream.ModelInfo) -> list[upstream.ConditionalPrice]:
    return model.prices if isinstance(model.prices, list) else []


def _changes_us(model: upstream.ModelInfo) -> set[int]:
    constraints = (condition.constraint for condition in _conditions(model))
    return {midnight_us(each.start_date, UTC) for each in constraints if isinstance(each, upstream.StartDateConstraint)}


def _rate_on(model: upstream.ModelInfo, at_us: int) -> Rate | str:
    """What holds on the day that begins then, or why nothing that a catalog can say does."""
    day = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=at_us)
    by_hour = any(isinstance(condition.constraint, upstream.TimeOfDateConstraint) for condition in _conditions(model))
    minutes = range(0, 24 * 60, 15) if by_hour else (0,)
    first, *others = (model.get_prices(day + timedelta(minutes=each)) for each in minutes)
    return "the price depends on the hour of the day" if any(price != first for price in others) else _rate(first)


def _rate(price: upstream.ModelPrice) -> Rate | str:
    known = {key: value for key, value in vars(price).items() if value is not None}
    if not known:
        return "no list price is published"
    if "requests_kcount" in known:
        return "a charge for each request is not counted in tokens"
    if known.keys() & {"output_reasoning_mtok", "output_citation_mtok"}:
        return "some output tokens have a rate of their own"
    if not known.keys() & {"input_mtok", "output_mtok"}:
        return "not priced by text tokens"
    if isinstance(thousand := known.get(_SEARCHES), Decimal):
        known[_SEARCHES] = 1_000 * thousand
    used = {name: known.get(key) for name, key in zip(Rates.__struct_fields__, _KEYS, strict=True)}
    tiered = [value for value in used.values() if isinstance(value, upstream.TieredPrices)]
    starts = sorted({tier.start for value in tiered for tier in value.tiers})
    bands = tuple(Band(above_input_tokens=start, **_dollars(used, start + 1)) for start in starts)
    return Rate(**_dollars(used, 0), long_context=bands)


def _dollars(used: dict[str, Decimal | upstream.TieredPrices | None], input_tokens: int) -> dict[str, float | None]:
    found: dict[str, float | None] = {}
    for name, value in used.items():
        if isinstance(value, upstream.TieredPrices):
            reached = [tier.price for tier in value.tiers if input_tokens > tier.start]
            value = reached[-1] if reached else value.base
        found[name] = None if value is None else float(value.quantize(Decimal("1e-9")))
    return found
