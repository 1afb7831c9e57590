"""The maintained price data as a catalog: the same prices to the nano-dollar, by the same names."""

from collections.abc import Iterator
from datetime import UTC, date, datetime
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from genai_prices import Usage, calc_price
from msgspec import structs

from aggregates.prices import prices
from aggregates.prices.catalog import ExactLookup, Rate, content_fault
from aggregates.prices.prices import Price, PriceBook
from aggregates.times import parse_instant
from svc.jobs.price_data import compiled, data_date_us, packaged, parsed
from tests.support.catalogs import snapshot
from tests.support.tables import each_of, lines_of, table

NOW_US = parse_instant("2026-11-20")


@cache
def shipped() -> tuple[ExactLookup, ...]:
    """The data that comes with the package; compiled where it is asked for, and not by every worker that collects."""
    return compiled(packaged())


@cache
def book() -> PriceBook:
    return PriceBook(structs.replace(snapshot(), exact_lookups=shipped()))


class Asked(NamedTuple):
    """A request: the id as reported, its provider where the id alone does not lead there, a day, and its tokens."""

    model: str
    day: str = "2026-11-01"
    input: int = 1_000
    output: int = 700
    read: int = 0
    write: int = 0
    hour: int = 0
    provider: str | None = None


def _requests() -> Iterator[tuple[str, Asked]]:
    """As test_price_data.txt has them."""
    for _, line in lines_of(Path(__file__).with_suffix(".txt")):
        model, *told = line.split()
        pairs = (each.split("=") for each in told)
        fields: dict[str, Any] = {name: int(each) if each.isdigit() else each for name, each in pairs}
        yield line, Asked(model, **fields)


@table("asked", dict(_requests()))
def test_a_request_costs_what_the_data_themselves_make_of_it(asked: Asked) -> None:
    """On both sides of price changes and of long-context bounds, with writes of both durations."""
    when = datetime.combine(date.fromisoformat(asked.day), datetime.min.time(), UTC)
    usage: dict[str, Any] = {
        "input_tokens": asked.input + asked.read + asked.write,
        "output_tokens": asked.output,
        "cache_read_tokens": asked.read,
        "cache_write_tokens": asked.write,
        "cache_write_1h_tokens": asked.hour,
    }
    theirs = calc_price(Usage(**usage), asked.model, provider_id=asked.provider, genai_request_timestamp=when)
    ours = _ours(asked)
    assert isinstance(ours, Price)
    assert ours.cost_usd_nano == int((theirs.total_price * 10**9).to_integral_value())
    assert ours.kind == "catalog_estimate"


def _ours(asked: Asked, *, hour_is_known: bool = True) -> Price | None:
    hour = asked.hour if hour_is_known else None
    tokens = prices.Usage(asked.input, asked.output, asked.read, asked.write, hour)
    return book().price(asked.model, parse_instant(asked.day), tokens)


def test_an_unknown_model_has_no_price_and_writes_of_unknown_duration_that_of_short_ones_at_least() -> None:
    for model in ("qwen-nobody-knows", "claude-next-99", "gpt-99", "<synthetic>", "default"):
        assert _ours(Asked(model)) is None
    short = _ours(Asked("claude-sonnet-4-5", write=3_000))
    unknown = _ours(Asked("claude-sonnet-4-5", write=3_000), hour_is_known=False)
    assert isinstance(short, Price)
    assert unknown == Price(short.cost_usd_nano, "catalog_lower_bound", short.catalog_revision)


def test_every_listed_id_is_what_the_data_say_it_is() -> None:
    """No id was made up on the way, and all that is listed is valid."""
    data = packaged()
    for each in shipped():
        name = each.provider.provider
        if each.provider.status == "catalog_inferred":
            provider, model = data.find_provider_model(each.external_model_id, None, None, None)
            assert provider.id == name
        else:
            _, model = data.find_provider_model(each.external_model_id, None, name, None)
        assert model.id == each.model.canonical_model_id
    assert content_fault(shipped()) is None
    assert len(shipped()) > 500


@each_of(["-20260101", "-2026-01-01", "-latest"])
def test_a_date_taken_off_an_id_leads_where_the_data_lead_with_it(suffix: str) -> None:
    """Whatever maker's id it is hung on: where the data know the dated id, the catalog says the same, or nothing."""
    data = packaged()
    for each in shipped():
        dated = each.external_model_id + suffix
        ours = book().lookup(dated)
        try:
            _, theirs = data.find_provider_model(dated, None, None, None)
        except LookupError:
            continue
        if ours is not None and ours.provider.status == "catalog_inferred":
            assert theirs.id == ours.model.canonical_model_id, dated


def test_the_data_date_is_that_of_the_newest_change_that_has_come() -> None:
    """A price announced for later makes no catalog newer."""
    dated = data_date_us(packaged(), NOW_US)
    assert parse_instant("2026-01-01") < dated <= NOW_US
    assert data_date_us(packaged(), dated - 1) < dated
    assert data_date_us(parsed(RAW[:1]), NOW_US) == NOW_US


def model(model_id: str, prices: Any, **match: Any) -> dict[str, Any]:
    return {"id": model_id, "match": match or {"equals": model_id}, "prices": prices}


def _provider(provider_id: str, *models: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return {"id": provider_id, "name": provider_id, "api_pattern": "x", "models": list(models), **fields}


STEADY, DEAR, DEARER = ({"input_mtok": price, "output_mtok": price + more} for price, more in ((1, 1), (2, 0), (3, 0)))
MAY = {"constraint": {"start_date": "2026-05-01"}}
DAY = {"constraint": {"start_time": "00:30:00Z", "end_time": "16:30:00Z"}}
RAW: list[Any] = [
    _provider(
        "maker",
        model("m-1", STEADY, starts_with="m-1"),
        model("m-2", STEADY, **{"or": [{"equals": "m-2"}, {"starts_with": "m-2-"}, {"regex": "^m-2x"}]}),
        model("m-asked", {**STEADY, "requests_kcount": 5}),
        model("m-thinks", {**STEADY, "output_reasoning_mtok": 3}),
        model("m-hears", {"audio_hours": 3}),
        model("m-mute", {}),
        model_match={"starts_with": "m-"},
    ),
    _provider("reseller", model("m-1", {"input_mtok": 9, "output_mtok": 9})),
    _provider(
        "clocks",
        model("c-night", [{"prices": STEADY}, MAY | {"prices": DEAR}, DAY | {"prices": DEARER}]),
        model("c-same", [{"prices": STEADY}, MAY | {"prices": {**STEADY, "audio_hours": 9}}]),
        model("c-searched", [{"prices": STEADY}, MAY | {"prices": {**STEADY, "web_searches_kcount": 9}}]),
        model(
            "c-bands",
            {
                "input_mtok": {"base": 1, "tiers": [{"start": 100, "price": 2}]},
                "output_mtok": {"base": 5, "tiers": [{"start": 200, "price": 6}]},
                "cache_read_mtok": 0.041666666666666664,
            },
        ),
        model_match={"starts_with": "c-"},
    ),
]


def _raw() -> dict[str, ExactLookup]:
    return {each.external_model_id: each for each in compiled(parsed(RAW))}


def test_only_makers_are_listed_and_only_what_a_rule_spells_out() -> None:
    """Beginnings of ids are none, and a reseller's price for a maker's id is no list price. At every length at which
    any single rate changes, all of them are given."""
    found = _raw()
    assert " ".join(sorted(found)) == "c-bands c-night c-same c-searched m-1 m-2 m-asked m-hears m-mute m-thinks"
    bands = found["c-bands"].list_rates[0].rate
    assert bands is not None
    told = [(each.above_input_tokens, each.input, each.output, each.cache_read) for each in bands.long_context]
    assert told == [(100, 2.0, 5.0, 0.041666667), (200, 2.0, 6.0, 0.041666667)]
    rate = found["m-1"].list_rates[0].rate
    assert isinstance(rate, Rate)
    assert (rate.input, rate.output, rate.cache_read, rate.cache_write_5m) == (1.0, 2.0, None, None)
    assert [each.rate and each.rate.web_search for each in found["c-searched"].list_rates] == [None, 9_000.0]
    (only,) = found["c-same"].list_rates  # what a hearing costs from some day on is no part of a rate
    assert (only.effective_from, only.effective_to) == ("1970-01-01T00:00:00Z", None)


SAID = {
    "m-asked": "a charge for each request",
    "m-thinks": "a rate of their own",
    "m-hears": "not priced by text tokens",
    "m-mute": "no list price",
    "c-night": "the hour of the day",
}


@each_of(SAID.items())
def test_what_a_rate_cannot_say_is_said(model_id: str, reason: str) -> None:
    """A model whose cost is not a matter of tokens alone has a reason in the place of a rate."""
    (only,) = _raw()[model_id].list_rates
    assert only.rate is None
    assert reason in (only.unpriced_reason or "")
