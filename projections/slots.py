"""Buckets of a zone's hours, days and months out of sums that SQL made for each quarter of an hour.

Every zone in use differs from UTC by whole quarters of an hour, so a quarter never lies in two of its hours.
"""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from aggregates.times import US_PER_SECOND, iso

SLOT_US = 15 * 60 * US_PER_SECOND
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def local_time(slot: int, zone: ZoneInfo) -> datetime:
    """What clocks in the zone show when a quarter of an hour, counted since 1970, begins."""
    return (_EPOCH + slot * timedelta(microseconds=SLOT_US)).astimezone(zone)


def hour_start(slot: int, zone: ZoneInfo) -> str:
    """When the zone's hour that holds a quarter began, in UTC; of an hour that clocks repeat, each by itself."""
    minute = local_time(slot, zone).minute
    return iso(slot * SLOT_US - minute * 60 * US_PER_SECOND)
