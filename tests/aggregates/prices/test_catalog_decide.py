"""Deciding about the catalog: given what is published, when somebody publishes or reprices, then this is logged."""

from typing import Any
from uuid import UUID

import msgspec
import pytest

from aggregates.event import Reason, Refused
from aggregates.ids import CATALOG_STREAM, REPRICING_STREAM
from aggregates.prices.catalog import (
    CatalogDocument,
    CatalogPublished,
    CatalogState,
    NewFact,
    PublishCatalog,
    Published,
    Repriced,
    RequestsRepriced,
    decide_catalog,
    snapshot_fault,
)
from aggregates.times import INSTANT_MAX_US
from tests.support.catalogs import document, lookup, lookups, snapshot

NOW_US = 1_790_000_000_000_000
ACME, STRANGER = UUID(int=1), UUID(int=2)
AT_SEVEN = CatalogState(last_revision=7, newest_valid=snapshot(revision=6), repricings=3)


def publish(given: CatalogDocument, state: CatalogState = AT_SEVEN) -> tuple[tuple[NewFact, ...], Published | Refused]:
    facts, reply = decide_catalog(PublishCatalog(document=given, source="prices.json"), state, {ACME}, NOW_US)
    assert isinstance(reply, Published | Refused)
    return facts, reply


def test_the_first_catalog_is_revision_1() -> None:
    """The version in the stream is the revision; what the document leaves out is filled in."""
    ((stream, version, event),), reply = publish(document(), CatalogState())
    assert (stream, version) == (CATALOG_STREAM, 1)
    assert isinstance(event, CatalogPublished)
    assert snapshot_fault(event.snapshot) is None
    assert (event.source, event.snapshot.published_at_us, event.received_at_us) == ("prices.json", NOW_US, NOW_US)
    assert isinstance(reply, Published)
    assert (reply.catalog_revision, reply.changed) == (1, True)


def test_a_document_may_bring_its_own_revision_date_and_checksum() -> None:
    theirs = snapshot(lookup("new"), revision=40)
    ((_, version, event),), _ = publish(
        document(
            lookup("new"),
            catalog_revision=40,
            checksum_sha256=theirs.checksum_sha256.upper(),
            published_at="2026-09-01T02:00:00+02:00",
        )
    )
    assert version == 40
    assert isinstance(event, CatalogPublished)
    assert (event.snapshot.checksum_sha256, event.snapshot.published_at_us) == (
        theirs.checksum_sha256,
        1_788_220_800_000_000,
    )


def test_the_same_prices_again_publish_nothing() -> None:
    """Whatever revision the document claims: the answer names the one that says the same."""
    for given in (document(), document(catalog_revision=3), document(published_at="2030-01-01")):
        facts, reply = publish(given)
        assert facts == ()
        assert isinstance(reply, Published)
        assert (reply.catalog_revision, reply.changed) == (6, False)


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({"catalog_revision": 0}, "Expected `int` >= 1 - at `$.catalog_revision`"),
        ({"catalog_revision": 2**31}, "Expected `int` <= 2147483647 - at `$.catalog_revision`"),
        ({"schema_version": 2}, "Invalid enum value 2 - at `$.schema_version`"),
        ({"published_at": "once"}, "published_at: a time must be"),
    ],
)
def test_a_document_out_of_bounds_cannot_be_read(fields: dict[str, Any], why: str) -> None:
    """Also one whose prices are those that are served already."""
    plain = msgspec.to_builtins(document()) | fields
    with pytest.raises(msgspec.ValidationError) as refused:
        msgspec.convert(plain, CatalogDocument)
    assert why in str(refused.value)


def test_after_the_last_revision_there_is_none() -> None:
    facts, reply = publish(document(lookup("new")), CatalogState(last_revision=2**31 - 1))
    assert facts == ()
    assert isinstance(reply, Refused)
    assert "at most 2147483647" in reply.message


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"catalog_revision": 7}, "must be greater than 7"),
    ({"checksum_sha256": "0" * 64}, "covers catalog_revision, which is missing"),
    ({"checksum_sha256": "0" * 64, "catalog_revision": 8}, "does not fit"),
    ({"exact_lookups": lookups(lookup("a"), lookup("a"))}, "exact_lookups[1].external_model_id repeats"),
    ({"exact_lookups": ()}, "length >= 1"),
]


@pytest.mark.parametrize(("fields", "why"), REFUSED)
def test_a_faulty_document_changes_nothing(fields: dict[str, Any], why: str) -> None:
    facts, reply = publish(CatalogDocument(**{"exact_lookups": lookups(lookup("new"))} | fields))
    assert facts == ()
    assert isinstance(reply, Refused)
    assert reply.reason is Reason.INVALID
    assert why in reply.message


def reprice(
    from_us: int, to_us: int, organization: UUID = ACME, state: CatalogState = AT_SEVEN
) -> tuple[tuple[NewFact, ...], Repriced | Refused]:
    command = RequestsRepriced(organization_id=organization, from_us=from_us, to_us=to_us)
    facts, reply = decide_catalog(command, state, {ACME}, NOW_US)
    assert isinstance(reply, Repriced | Refused)
    return facts, reply


def test_an_order_to_reprice_names_the_newest_valid_revision() -> None:
    """It stands in a stream of its own, so that revisions have no gaps."""
    ((stream, version, event),), reply = reprice(5, 9)
    assert (stream, version) == (REPRICING_STREAM, 4)
    expected = RequestsRepriced(received_at_us=NOW_US, organization_id=ACME, catalog_revision=6, from_us=5, to_us=9)
    assert event == expected
    assert reply == Repriced(organization_id=ACME, catalog_revision=6)


IMPOSSIBLE: list[tuple[dict[str, Any], Reason, str]] = [
    ({"from_us": 9, "to_us": 9}, Reason.INVALID, "from must come before to"),
    ({"from_us": -1, "to_us": 9}, Reason.INVALID, "from must come before to"),
    ({"from_us": 1, "to_us": INSTANT_MAX_US + 1}, Reason.INVALID, "from must come before to"),
    ({"from_us": 1, "to_us": 9, "organization": STRANGER}, Reason.NOT_FOUND, "no organization"),
    ({"from_us": 1, "to_us": 9, "state": CatalogState()}, Reason.INVALID, "no validated catalog snapshot"),
]


@pytest.mark.parametrize(("order", "reason", "why"), IMPOSSIBLE)
def test_an_order_that_makes_no_sense_is_refused(order: dict[str, Any], reason: Reason, why: str) -> None:
    facts, reply = reprice(**order)
    assert facts == ()
    assert isinstance(reply, Refused)
    assert reply.reason is reason
    assert why in reply.message
