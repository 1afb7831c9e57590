"""The decoration of a model's id comes off by a fixed list, and nothing else does."""

import pytest

from aggregates.prices.prices import PriceBook
from tests.support.catalogs import lookup, snapshot

BEDROCK = {"status": "observed", "provider": "aws"}
BOOK = PriceBook(
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
    ("claude-sonnet-4-5-latest", "claude-sonnet-4-5"),
    ("claude-sonnet-4-5@default", "claude-sonnet-4-5"),
    ("claude-opus-4-6[1m]", "claude-opus-4-6"),
    ("claude-sonnet-4-5-20250929[1m]", "claude-sonnet-4-5"),
    ("gpt-5-2025-08-07", "gpt-5-2025-08-07"),
    ("gpt-5-2025-10-01", "gpt-5"),
    ("models/gemini-2.5-pro", "gemini-2.5-pro"),
    ("publishers/google/models/gemini-2.5-pro", "gemini-2.5-pro"),
    ("anthropic/claude-sonnet-4-5", "claude-sonnet-4-5"),
    ("openai/gpt-5", "gpt-5"),
    ("us.anthropic.claude-sonnet-4-5-20250929-v1:0", "us.anthropic.claude-sonnet-4-5-20250929"),
    ("global.anthropic.claude-opus-4-6-v1", "global.anthropic.claude-opus-4-6"),
    (
        "arn:aws:bedrock:us-east-1:123456789012:inference-profile/us.anthropic.claude-sonnet-4-5-20250929-v1:0",
        "us.anthropic.claude-sonnet-4-5-20250929",
    ),
    ("Mixed-Case", "Mixed-Case"),
]


@pytest.mark.parametrize(("reported", "listed"), NAMES)
def test_a_decorated_id_is_found(reported: str, listed: str) -> None:
    """As agents, gateways and clouds write it; an id that is listed itself comes before a plainer one."""
    found = BOOK.lookup(reported)
    assert found is not None
    assert found.external_model_id == listed


STRANGERS = [
    "",
    "/",
    "claude-sonnet-4-5-turbo",
    "claude-sonnet-4",
    "claude-sonnet-4-5[2m]",
    "my-claude-sonnet-4-5",
    "openai/claude-sonnet-4-5",
    "gateway/anthropic/claude-sonnet-4-5",
    "gpt-5-v1:0",
    "gpt-5-20",
    "eu.anthropic.claude-sonnet-4-5-20250929-v1:0",
    "arn:aws:bedrock:us-east-1:123456789012:application-inference-profile/abc123",
    "<synthetic>",
]


@pytest.mark.parametrize("reported", STRANGERS)
def test_nothing_is_guessed(reported: str) -> None:
    """What only resembles a listed id, or names another vendor, is not known."""
    assert BOOK.lookup(reported) is None
