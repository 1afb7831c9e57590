"""The period of a report: a calendar day, week or month of a zone."""

from datetime import date
from zoneinfo import ZoneInfo

import msgspec

from aggregates.times import Window, WindowName, calendar_windows, midnight_us


class ReportPeriod(msgspec.Struct, frozen=True, kw_only=True):
    """From `start_us` up to, but without, `end_us`; the zone is the one whose calendar it is of."""

    name: WindowName
    start_us: int
    end_us: int
    timezone: str

    @property
    def window(self) -> Window:
        return Window(self.start_us, self.end_us)

    def windows(self, count: int) -> tuple[Window, ...]:
        """The last `count` windows up to this one, oldest first."""
        return calendar_windows(self.name, ZoneInfo(self.timezone), self.start_us, count)


def last_whole_period(name: WindowName, zone: ZoneInfo, now_us: int) -> ReportPeriod:
    """The newest one that is over."""
    return _period(name, zone, calendar_windows(name, zone, now_us, 2)[0])


def period_of(name: WindowName, zone: ZoneInfo, day: date) -> ReportPeriod:
    """The one that holds a day."""
    return _period(name, zone, calendar_windows(name, zone, midnight_us(day, zone), 1)[0])


def _period(name: WindowName, zone: ZoneInfo, window: Window) -> ReportPeriod:
    return ReportPeriod(name=name, start_us=window.start_us, end_us=window.end_us, timezone=zone.key)
