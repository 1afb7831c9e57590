"""What a request costs by a catalog, what has no price, and how a reported cost is kept."""

from decimal import Decimal
from typing import Any
from uuid import UUID

import msgspec
from hypothesis import given, settings, strategies as st

from aggregates.capture.events import CapturePrompt, CaptureResponse, PromptAnswered, ResponseContent
from aggregates.decide import StreamState, decide, evolve
from aggregates.event import Context, Digester
from aggregates.prices.prices import Price, PriceBook, Usage, price_book
from aggregates.times import parse_instant
from tests.support.catalogs import CHANGE, changing_lookup, list_rate, lookup, rate, snapshot
from tests.support.tables import beside

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
DOLLAR = 10**9  # in nano-dollars


TIMES = {"before": BEFORE_US, "after": AFTER_US, "before the first": parse_instant("2026-01-01") - 1}


def price(model: str = "claude-test-4", at: str = "after", **tokens: Any) -> Price | None:
    """Of these classes of tokens; input and output are observed, unless they are given as None."""
    usage: dict[str, Any] = {"input_tokens": 0, "output_tokens": 0, **tokens}
    at_us = TIMES[at] if at in TIMES else parse_instant(at)
    return BOOK.price(model, at_us, Usage(**usage))


@beside()
def test_a_request_costs(usage: dict[str, Any], nano: int, kind: str) -> None:
    """In nano-dollars, stamped with the revision and with how sure it is."""
    assert price(**usage) == Price(nano, f"catalog_{kind}", 5)  # type: ignore[arg-type]


@beside()
def test_a_request_without_a_price_never_costs_nothing(usage: dict[str, Any]) -> None:
    assert price(**({"input_tokens": 1} | usage)) is None


@beside()
def test_a_model_is_looked_up(model: str, listed: str | None) -> None:
    """And is found again, the second time from memory."""
    for found in (BOOK.lookup(model), BOOK.lookup(model)):
        assert (None if found is None else found.external_model_id) == listed


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
        assert found is None
        return
    short = (writes or 0) - (hour or 0)
    counts = (put_in or 0, put_out or 0, read or 0, short, hour or 0)
    exact = sum((count * value * 1000 for count, value in zip(counts, rates, strict=True)), Decimal())
    assert isinstance(found, Price)
    assert found.cost_usd_nano == int(exact.to_integral_value())


def told(model: str, terms: str | None = None, **more: int | None) -> Price | None:
    """A million tokens of input, at a dollar of list price, under terms."""
    usage: dict[str, Any] = {"input_tokens": MILLION, "output_tokens": 0, **more, "terms": terms}
    return TERMS.price(model, 0, Usage(**usage))


DOLLAR_EACH: dict[str, Any] = {"list_rates": [list_rate(rate=rate(1, web_search=10_000))]}
TERMS = PriceBook(
    snapshot(
        *(lookup(name, **DOLLAR_EACH) for name in ("claude-opus-4-6", "claude-opus-4-8", "claude-haiku-4-5")),
        lookup("gpt-5.5", provider={"status": "catalog_inferred", "provider": "openai"}, **DOLLAR_EACH),
        lookup("glm-4.6", provider={"status": "observed", "provider": "zai"}, list_rates=[list_rate(rate=rate(1))]),
    )
)


@beside()
def test_terms_and_searches_are_billed(
    model: str, terms: str | None, more: dict[str, int], dollars: float, kind: str
) -> None:
    """By factors that providers publish; what is not known is said by the kind of the price."""
    assert told(model, terms, **more) == Price(round(dollars * DOLLAR), f"catalog_{kind}", 1)  # type: ignore[arg-type]


def test_a_price_that_may_be_more_and_may_be_less_is_none() -> None:
    assert told("glm-4.6", "service_tier=flex speed=fast") is None
    assert told("glm-4.6", "service_tier=flex", web_searches=1) is None


def test_an_invalid_snapshot_prices_nothing() -> None:
    """The book before it goes on; a valid one is built once."""
    valid = snapshot()
    assert price_book(msgspec.structs.replace(valid, checksum_sha256="0" * 64)) is None
    book = price_book(valid)
    assert isinstance(book, PriceBook)
    assert price_book(snapshot()) is book


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


@beside()
def test_a_reported_cost_is_kept_in_nano_dollars(dollars: float | None, nano: int | None) -> None:
    assert answered(cost_usd=dollars, output_tokens=1).cost_usd_nano == nano


# The decoration of a model's id comes off by a fixed list, and nothing else does.

BEDROCK = {"status": "observed", "provider": "aws"}
DECORATED = PriceBook(
    snapshot(
        lookup("claude-sonnet-4-5"),
        lookup("claude-opus-4-6"),
        lookup("gpt-5", provider={"status": "catalog_inferred", "provider": "openai"}),
        lookup("gpt-5-2025-08-07", provider={"status": "catalog_inferred", "provider": "openai"}),
        lookup("gemini-2.5-pro", provider={"status": "catalog_inferred", "provider": "google"}),
        lookup("us.anthropic.claude-sonnet-4-5-20250929", provider=BEDROCK),
        lookup("global.anthropic.claude-opus-4-6", provider=BEDROCK),
        lookup("Mixed-Case"),
    )
)

NAMES = [
    ("claude-sonnet-4-5", "claude-sonnet-4-5"),
    (" Claude-Sonnet-4-5 ", "claude-sonnet-4-5"),
    ("claude-sonnet-4-5-20250929", "claude-sonnet-4-5"),
    ("claude-sonnet-4-5@20250929", "claude-sonnet-4-5"),
    ("claude-sonnet-4-5@default", "claude-sonnet-4-5"),
    ("claude-opus-4-6[1m]", "claude-opus-4-6"),
    ("gpt-5-2025-08-07", "gpt-5-2025-08-07"),
    ("gpt-5-2025-10-01", "gpt-5"),
    ("models/gemini-2.5-pro", "gemini-2.5-pro"),
    ("anthropic/claude-sonnet-4-5", "claude-sonnet-4-5"),
    ("openrouter/anthropic/claude-sonnet-4-5", "claude-sonnet-4-5"),
    ("vertex_ai/claude-sonnet-4-5@20250929", "claude-sonnet-4-5"),
    ("bedrock/us.anthropic.claude-sonnet-4-5-20250929-v1:0", "us.anthropic.claude-sonnet-4-5-20250929"),
    ("amazon-bedrock/global.anthropic.claude-opus-4-6-v1:0", "global.anthropic.claude-opus-4-6"),
    ("bedrock/converse/eu-west-1/global.anthropic.claude-opus-4-6-v1:0", "global.anthropic.claude-opus-4-6"),
    ("us.anthropic.claude-sonnet-4-5-20250929-v1:0", "us.anthropic.claude-sonnet-4-5-20250929"),
    ("global.anthropic.claude-opus-4-6-v1", "global.anthropic.claude-opus-4-6"),
    (
        "arn:aws:bedrock:us-east-1:123456789012:inference-profile/us.anthropic.claude-sonnet-4-5-20250929-v1:0",
        "us.anthropic.claude-sonnet-4-5-20250929",
    ),
    ("Mixed-Case", "Mixed-Case"),
]


@beside()
def test_a_decorated_id_is_found(reported: str, listed: str) -> None:
    """As agents, gateways and clouds write it; an id that is listed itself comes before a plainer one."""
    found = DECORATED.lookup(reported)
    assert found is not None
    assert found.external_model_id == listed


STRANGERS = [
    "",
    "claude-sonnet-4-5-turbo",
    "claude-sonnet-4-5[2m]",
    "my-claude-sonnet-4-5",
    "openai/claude-sonnet-4-5",
    "gateway/anthropic/claude-sonnet-4-5",
    "eu.anthropic.claude-sonnet-4-5-20250929-v1:0",
    "arn:aws:bedrock:us-east-1:123456789012:application-inference-profile/abc123",
    "<synthetic>",
]


@beside()
def test_nothing_is_guessed(reported: str) -> None:
    """What only resembles a listed id, or names another vendor, is not known."""
    assert DECORATED.lookup(reported) is None
