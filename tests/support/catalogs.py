"""Small catalogs for tests: one model with a price change, a long context and an hour's cache, and others."""

from typing import Any

import msgspec

from aggregates.prices.catalog import CatalogDocument, ExactLookup, Snapshot, checksum

CHANGE = "2026-03-13T00:00:00Z"


def rate(input_dollars: float = 3, **fields: Any) -> dict[str, Any]:
    """Rates as a document has them, from that of input: five times as much for output."""
    usual = {
        "input": input_dollars,
        "output": 5 * input_dollars,
        "cache_read": input_dollars / 10,
        "cache_write_5m": input_dollars * 1.25,
    }
    return usual | fields


def list_rate(since: str = "1970-01-01T00:00:00Z", until: str | None = None, **fields: Any) -> dict[str, Any]:
    """A segment; with a rate unless something else is given."""
    return {"effective_from": since, "effective_to": until, **(fields or {"rate": rate()})}


def lookup(model_id: str = "claude-test-4", **fields: Any) -> dict[str, Any]:
    """An entry as a document has it."""
    usual = {
        "external_model_id": model_id,
        "model": {"status": "known", "canonical_model_id": model_id, "display_name": model_id.title()},
        "provider": {"status": "catalog_inferred", "provider": "anthropic"},
        "list_rates": [list_rate()],
    }
    return usual | fields


def changing_lookup(model_id: str = "claude-test-4") -> dict[str, Any]:
    """An entry whose long context costs more up to a day, and which then costs the same at any length."""
    hour = {"cache_write_1h": 6}
    long = {"above_input_tokens": 200_000, **rate(6, cache_write_1h=12)}
    rates = [
        list_rate(until=CHANGE, rate=rate(3, **hour, long_context=[long])),
        list_rate(CHANGE, rate=rate(2, cache_write_1h=4)),
    ]
    return lookup(model_id, list_rates=rates)


def lookups(*entries: dict[str, Any]) -> tuple[ExactLookup, ...]:
    return msgspec.convert(entries or (lookup(),), tuple[ExactLookup, ...], strict=False)


def document(*entries: dict[str, Any], **fields: Any) -> CatalogDocument:
    """A document as somebody hands it in."""
    return CatalogDocument(exact_lookups=lookups(*entries), **fields)


def snapshot(*entries: dict[str, Any], revision: int = 1, published_at_us: int = 0) -> Snapshot:
    """A snapshot with the checksum that fits."""
    found = lookups(*entries)
    return Snapshot(
        schema_version=1,
        catalog_revision=revision,
        published_at_us=published_at_us,
        checksum_sha256=checksum(revision, found),
        exact_lookups=found,
    )
