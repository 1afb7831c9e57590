"""What a request costs by a catalog, what has no price, and how a reported cost is kept."""

from decimal import Decimal
from typing import Any
from uuid import UUID

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aggregates.capture.commands import CapturePrompt, CaptureResponse, ResponseContent
from aggregates.capture.events import PromptAnswered
from aggregates.decide import StreamState, decide, evolve
from aggregates.event import Context, Digester
from aggregates.prices.prices import Price, PriceBook, Unpriced, Usage, price_book
from aggregates.times import parse_instant
from tests.support.catalogs import CHANGE, changing_lookup, list_rate, lookup, rate, snapshot

BEFORE_US, AFTER_US = parse_instant(CHANGE) - 1, parse_instant(CHANGE)
UNDETERMINED: dict[str, Any] = {"model": {"status": "ambiguous"}, "list_rates": []}
GAP = [list_rate("2026-01-01", CHANGE), list_rate("2026-04-01", unpriced_reason="withdrawn")]
BOOK = PriceBook(
    snapshot(
        changing_lookup(),
        lookup("one-write", list_rates=[list_rate(rate=rate(1))]),
        lookup("same-writes", list_rates=[list_rate(rate=rate(1, cache_write_1h=1.25))]),
        lookup("no-cache", list_rates=[list_rate(rate=rate(1, cache_read=None, cache_write_5m=None))]),
        lookup("input-only", list_rates=[list_rate(rate=rate(1, output=None))]),
        lookup("output-only", list_rates=[list_rate(rate=rate(1, input=None))]),
        lookup("tenth", list_rates=[list_rate(rate=rate(0.0001))]),
        lookup("least", list_rates=[list_rate(rate=rate(1e-9))]),
        lookup("nano", list_rates=[list_rate(rate=rate(0.001))]),
        lookup("on-bedrock", provider={"status": "observed", "provider": "aws"}),
        lookup("openai/listed"),
        lookup("free", list_rates=[list_rate(rate=rate(0))]),
        lookup("gap", list_rates=GAP),
        lookup("nothing", list_rates=[]),
        lookup("ambiguous", **UNDETERMINED),
        lookup("unknown", model={"status": "unknown"}, list_rates=[]),
        lookup("two-vendors", provider={"status": "ambiguous"}, list_rates=[]),
        lookup("no-vendor", provider={"status": "unknown"}, list_rates=[]),
        revision=5,
    )
)
MILLION = 1_000_000
DOLLAR = 10**9
"""In nano-dollars."""


def price(model: str = "claude-test-4", at_us: int = AFTER_US, **tokens: int | None) -> Price | Unpriced:
    """Of these classes of tokens; input and output are observed, unless they are given as None."""
    usage: dict[str, int | None] = {"input_tokens": 0, "output_tokens": 0, **tokens}
    return BOOK.price(model, at_us, Usage(**usage))


@pytest.mark.parametrize(
    ("usage", "nano", "kind"),
    [
        pytest.param({"input_tokens": MILLION}, 2 * DOLLAR, "estimate", id="input"),
        pytest.param({"output_tokens": MILLION}, 10 * DOLLAR, "estimate", id="output"),
        pytest.param({"cache_read_tokens": MILLION}, 200_000_000, "estimate", id="reads from the cache"),
        pytest.param({"input_tokens": 1, "output_tokens": 1}, 12_000, "estimate", id="one token of each"),
        pytest.param(
            {"model": "free", "input_tokens": MILLION}, 0, "estimate", id="a list price of nothing is a price"
        ),
        pytest.param(
            {"model": "input-only", "input_tokens": MILLION}, DOLLAR, "estimate", id="a class that is not used"
        ),
        # writes to the cache
        pytest.param(
            {"cache_write_tokens": MILLION, "cache_write_1h_tokens": 0}, 2_500_000_000, "estimate", id="short writes"
        ),
        pytest.param(
            {"cache_write_tokens": MILLION, "cache_write_1h_tokens": MILLION}, 4 * DOLLAR, "estimate", id="an hour's"
        ),
        pytest.param(
            {"cache_write_tokens": MILLION, "cache_write_1h_tokens": 400_000}, 3_100_000_000, "estimate", id="both"
        ),
        pytest.param({"cache_write_1h_tokens": MILLION}, 4 * DOLLAR, "estimate", id="an hour's alone"),
        pytest.param({"cache_write_tokens": MILLION}, 2_500_000_000, "lower_bound", id="writes of unknown duration"),
        pytest.param({"cache_write_tokens": 1}, 2_500, "lower_bound", id="one write of unknown duration"),
        pytest.param({"cache_write_tokens": 0}, 0, "estimate", id="no write of unknown duration"),
        pytest.param(
            {"model": "one-write", "cache_write_tokens": MILLION}, 1_250_000_000, "estimate", id="one kind of write"
        ),
        pytest.param(
            {"model": "same-writes", "cache_write_tokens": MILLION}, 1_250_000_000, "estimate", id="writes at one price"
        ),
        # what was not observed
        pytest.param(
            {"input_tokens": None, "output_tokens": MILLION}, 10 * DOLLAR, "lower_bound", id="input was not observed"
        ),
        pytest.param(
            {"input_tokens": MILLION, "output_tokens": None}, 2 * DOLLAR, "lower_bound", id="output was not observed"
        ),
        # long context, of old: the whole request moves band
        pytest.param({"at_us": BEFORE_US, "input_tokens": 200_000}, 600_000_000, "estimate", id="at the length"),
        pytest.param({"at_us": BEFORE_US, "input_tokens": 200_001}, 1_200_006_000, "estimate", id="above the length"),
        pytest.param(
            {"at_us": BEFORE_US, "input_tokens": 1, "cache_read_tokens": 199_999},
            60_002_700,
            "estimate",
            id="reads count to the length",
        ),
        pytest.param(
            {"at_us": BEFORE_US, "input_tokens": 1, "cache_read_tokens": 200_000},
            120_006_000,
            "estimate",
            id="and above it",
        ),
        pytest.param(
            {"at_us": BEFORE_US, "cache_write_tokens": 200_001, "cache_write_1h_tokens": 200_001},
            2_400_012_000,
            "estimate",
            id="so do an hour's writes",
        ),
        pytest.param(
            {"at_us": BEFORE_US, "cache_write_tokens": 200_001, "cache_write_1h_tokens": 0},
            1_500_007_500,
            "estimate",
            id="and short writes",
        ),
        pytest.param(
            {"at_us": BEFORE_US, "input_tokens": 200_001, "output_tokens": 1},
            1_200_036_000,
            "estimate",
            id="output, too",
        ),
        pytest.param({"at_us": BEFORE_US, "output_tokens": 300_000}, 4_500_000_000, "estimate", id="output counts not"),
        pytest.param({"at_us": AFTER_US, "input_tokens": 200_001}, 400_002_000, "estimate", id="from the change on"),
        # rounding the whole sum to nano-dollars, half to even; a token of `tenth` costs a tenth of one
        pytest.param({"model": "tenth", "input_tokens": 4}, 0, "estimate", id="0.4 is 0"),
        pytest.param({"model": "tenth", "input_tokens": 5}, 0, "estimate", id="0.5 is 0"),
        pytest.param({"model": "tenth", "input_tokens": 6}, 1, "estimate", id="0.6 is 1"),
        pytest.param({"model": "tenth", "input_tokens": 14}, 1, "estimate", id="1.4 is 1"),
        pytest.param({"model": "tenth", "input_tokens": 15}, 2, "estimate", id="1.5 is 2"),
        pytest.param({"model": "tenth", "input_tokens": 25}, 2, "estimate", id="2.5 is 2"),
        pytest.param({"model": "tenth", "input_tokens": 35}, 4, "estimate", id="3.5 is 4"),
        pytest.param({"model": "tenth", "input_tokens": 4, "output_tokens": 1}, 1, "estimate", id="0.4 and 0.5 are 1"),
        pytest.param({"model": "least", "input_tokens": 600_000}, 1, "estimate", id="a millionth of a nano-dollar"),
        pytest.param({"model": "nano", "input_tokens": 2**63 - 1}, 2**63 - 1, "estimate", id="as much as can be kept"),
    ],
)
def test_a_request_costs(usage: dict[str, Any], nano: int, kind: str) -> None:
    """In nano-dollars, stamped with the revision and with how sure it is."""
    assert price(**usage) == Price(nano, f"catalog_{kind}", 5)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("usage", "reason"),
    [
        pytest.param({"model": "claude-test-5"}, "unknown_model", id="a model that is not listed"),
        pytest.param({"model": "unknown"}, "unknown_model", id="a model that is listed as unknown"),
        pytest.param({"model": "ambiguous"}, "ambiguous_model", id="an id of two models"),
        pytest.param({"model": "two-vendors"}, "ambiguous_provider", id="an id of two providers"),
        pytest.param({"model": "no-vendor"}, "unknown_provider", id="an id of no provider"),
        pytest.param({"model": "nothing"}, "no_list_price", id="no price was published"),
        pytest.param(
            {"model": "gap", "at_us": parse_instant("2026-01-01") - 1},
            "no_list_price_at_that_time",
            id="before the first",
        ),
        pytest.param({"model": "gap", "at_us": AFTER_US}, "no_list_price_at_that_time", id="at the end of a price"),
        pytest.param(
            {"model": "gap", "at_us": parse_instant("2026-04-01") - 1},
            "no_list_price_at_that_time",
            id="up to the next",
        ),
        pytest.param(
            {"model": "gap", "at_us": parse_instant("2026-04-01")}, "withdrawn", id="the catalog's own reason"
        ),
        pytest.param({"model": "no-cache", "cache_read_tokens": 1}, "no_cache_read_rate", id="no rate for reads"),
        pytest.param({"model": "no-cache", "cache_write_tokens": 1}, "no_cache_write_5m_rate", id="none for writes"),
        pytest.param(
            {"model": "one-write", "cache_write_tokens": 1, "cache_write_1h_tokens": 1},
            "no_cache_write_1h_rate",
            id="none for an hour's",
        ),
        pytest.param({"model": "input-only", "output_tokens": 1}, "no_output_rate", id="none for output"),
        pytest.param({"model": "output-only", "input_tokens": 1}, "no_input_rate", id="none for input"),
        pytest.param(
            {"input_tokens": None, "output_tokens": None, "cache_read_tokens": 9},
            "no_tokens_observed",
            id="cache alone",
        ),
        pytest.param({"input_tokens": -1}, "inconsistent_token_counts", id="less than no input"),
        pytest.param({"output_tokens": -1}, "inconsistent_token_counts", id="less than no output"),
        pytest.param({"cache_read_tokens": -1}, "inconsistent_token_counts", id="less than no read"),
        pytest.param({"cache_write_tokens": -1}, "inconsistent_token_counts", id="less than no write"),
        pytest.param({"cache_write_1h_tokens": -1}, "inconsistent_token_counts", id="less than none for an hour"),
        pytest.param(
            {"cache_write_tokens": 1, "cache_write_1h_tokens": 2},
            "inconsistent_token_counts",
            id="a part over the whole",
        ),
        pytest.param({"model": "nano", "input_tokens": 2**63}, "implausible_token_count", id="more than can be kept"),
    ],
)
def test_a_request_without_a_price_says_why(usage: dict[str, Any], reason: str) -> None:
    """And never costs 0 for want of a price."""
    assert price(**({"input_tokens": 1} | usage)) == Unpriced(reason)


@pytest.mark.parametrize(
    ("at", "costs"),
    [
        pytest.param("2026-01-01T00:00:00Z", True, id="from its first moment"),
        pytest.param("2026-03-12T23:59:59.999999Z", True, id="to its last"),
        pytest.param(CHANGE, False, id="and not at its end"),
    ],
)
def test_a_price_holds_up_to_its_end(at: str, costs: bool) -> None:
    assert isinstance(price("gap", parse_instant(at), input_tokens=1), Price) is costs


@pytest.mark.parametrize(
    ("model", "listed"),
    [
        pytest.param("Claude-Test-4[1m]", "claude-test-4", id="as an agent decorates it"),
        pytest.param("anthropic/claude-test-4", "claude-test-4", id="with the vendor that the catalog names"),
        pytest.param("openai/claude-test-4", None, id="with another vendor"),
        pytest.param("anthropic/two-vendors", None, id="with one of two vendors"),
        pytest.param("anthropic/claude-test-5", None, id="with the vendor of nothing that is listed"),
        pytest.param("aws/on-bedrock", "on-bedrock", id="with the vendor that the id itself names"),
        pytest.param("openai/listed", "openai/listed", id="with a vendor, and listed so"),
    ],
)
def test_a_model_is_looked_up(model: str, listed: str | None) -> None:
    """And is found again, the second time from memory."""
    for found in (BOOK.lookup(model), BOOK.lookup(model)):
        assert (None if found is None else found.external_model_id) == listed


def test_a_class_without_a_rate_matters_only_where_it_is_used() -> None:
    """A model without a cache has a price for requests that use none."""
    assert isinstance(price("no-cache", input_tokens=1, cache_read_tokens=0, cache_write_tokens=0), Price)


TOKENS = st.one_of(st.none(), st.integers(0, 10**7))


@settings(max_examples=20)
@given(TOKENS, TOKENS, TOKENS, TOKENS, st.data())
def test_an_exact_sum_is_rounded_once(
    put_in: int | None, put_out: int | None, read: int | None, writes: int | None, data: st.DataObject
) -> None:
    """Against decimal arithmetic over the published numbers, whatever the mixture."""
    hour = data.draw(st.one_of(st.none(), st.integers(0, writes or 0)))
    rates = [Decimal(data.draw(st.integers(0, 10**6))) / 10**5 for _ in range(5)]
    names = ("input", "output", "cache_read", "cache_write_5m", "cache_write_1h")
    fields = {name: float(value) for name, value in zip(names, rates, strict=True)}
    book = PriceBook(snapshot(lookup("m", list_rates=[list_rate(rate=fields)])))
    found = book.price("m", 0, Usage(put_in, put_out, read, writes, hour))
    if put_in is None and put_out is None:
        assert found == Unpriced("no_tokens_observed")
        return
    short = (writes or 0) - (hour or 0)
    counts = (put_in or 0, put_out or 0, read or 0, short, hour or 0)
    exact = sum((count * value * 1000 for count, value in zip(counts, rates, strict=True)), Decimal())
    assert isinstance(found, Price)
    assert found.cost_usd_nano == int(exact.to_integral_value())


def test_an_invalid_snapshot_prices_nothing() -> None:
    """The book before it goes on; a valid one is built once."""
    valid = snapshot()
    assert price_book(msgspec.structs.replace(valid, checksum_sha256="0" * 64)) is None
    book = price_book(valid)
    assert isinstance(book, PriceBook)
    assert price_book(snapshot()) is book


# --- what an agent reports ------------------------------------------------------------------------------------

ACME, ANA, PROMPT_ID = UUID(int=1), UUID(int=2), UUID(int=3)
CONTEXT = Context(now_us=1, digester=Digester(b"a fixed key"), redaction=True)
PROMPT = CapturePrompt(
    organization_id=ACME, developer_id=ANA, prompt_id=PROMPT_ID, agent_session_id="s1", source="codex", text="Fix it"
)


def answered(**content: Any) -> PromptAnswered:
    streams: dict[UUID, StreamState] = {}
    for stream_id, event in decide(PROMPT, streams, CONTEXT).events:
        streams[stream_id] = evolve(streams.get(stream_id), event)
    response = CaptureResponse(
        organization_id=ACME, developer_id=ANA, prompt_id=PROMPT_ID, content=ResponseContent(**content)
    )
    ((_, event),) = decide(response, streams, CONTEXT).events
    assert isinstance(event, PromptAnswered)
    return event


@pytest.mark.parametrize(
    ("dollars", "nano"),
    [
        pytest.param(None, None, id="a cost that was not reported is none"),
        pytest.param(0.0, 0, id="a cost of nothing is one"),
        pytest.param(0.25, 250_000_000, id="a quarter of a dollar"),
        pytest.param(0.29, 290_000_000, id="a cost that no binary fraction holds"),
        pytest.param(1.001, 1_001_000_000, id="another that lies just below"),
        pytest.param(1.4e-9, 1, id="1.4 is 1"),
        pytest.param(1.6e-9, 2, id="1.6 is 2"),
        pytest.param(2.5e-9, 2, id="2.5 is 2"),
        pytest.param(3.5e-9, 4, id="3.5 is 4"),
    ],
)
def test_a_reported_cost_is_kept_in_nano_dollars(dollars: float | None, nano: int | None) -> None:
    assert answered(cost_usd=dollars, output_tokens=1).cost_usd_nano == nano


@pytest.mark.parametrize(
    ("elapsed_ms", "kept"),
    [
        pytest.param(None, None, id="a time that was not reported is none"),
        pytest.param(12.4, 12, id="12.4 is 12"),
        pytest.param(12.5, 12, id="12.5 is 12"),
        pytest.param(12.6, 13, id="12.6 is 13"),
        pytest.param(13.5, 14, id="13.5 is 14"),
    ],
)
def test_a_reported_time_is_kept_in_milliseconds(elapsed_ms: float | None, kept: int | None) -> None:
    assert answered(elapsed_ms=elapsed_ms, output_tokens=1).elapsed_ms == kept
