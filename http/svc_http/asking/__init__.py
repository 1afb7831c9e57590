"""What an agent may ask svc about its own person, over the Model Context Protocol; a terminal asks of the same days."""

import time
from datetime import UTC, datetime, timedelta

from aggregates.times import US_PER_DAY

DAYS_MAX = 366


def last_days(days: int) -> dict[str, object]:
    now = datetime.now(UTC)
    return {"from": (now - timedelta(days=days)).isoformat(), "to": now.isoformat()}


def last_days_us(days: int) -> dict[str, object]:
    """The same for routes that count days themselves."""
    now_us = time.time_ns() // 1_000
    return {"from_us": now_us - days * US_PER_DAY, "to_us": now_us}
