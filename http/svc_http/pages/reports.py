"""Reports: asked for, watched while they are made, read, printed, and made by themselves on a schedule."""

import json
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode
from uuid import UUID
from zoneinfo import ZoneInfo

from quart import Response

from aggregates.people.acts import ChangeDeveloper, Channel, Schedule
from aggregates.reports.decide import Try, next_try_us
from aggregates.scores.grades import Interval
from aggregates.times import parse_instant
from projections.facts import reports as rows
from svc_http.bodies import Form, HttpError, accepted, found
from svc_http.pages import charts, rendering
from svc_http.pages.door import BySignIn
from svc_http.pages.words import SAID, day, local, rate_told
from svc_http.params import OFFSET_MAX, integer, one_of
from svc_http.routes import reports as api

UNFINISHED = ("queued", "running")
CHANNELS: Mapping[Channel, str] = {"email": "e-mail", "webhook": "webhook"}
PERIODS: Mapping[Schedule, str] = {"daily": "day", "weekly": "week", "monthly": "month"}
PAGE_ROWS, ROWS_SHOWN, ROWS_OF_NEWEST = 50, 20, 5


class Section(dict[str, Any]):
    """What a report holds, by the API's names. It stays as it was once made: what it had not yet is empty."""

    def __missing__(self, name: str) -> "Section":
        return Section()


def title_of(of: rows.ReportListed) -> str:
    """As in "Week of 16 November 2026 to 22 November 2026", "November 2026 so far"; in the zone that it was made in."""
    (first, last), zone = _bounds(of.meta), ZoneInfo(of.meta.timezone)
    titles = {
        "daily": day(first, zone),
        "weekly": f"Week of {day(first, zone)} to {day(last, zone)}",
        "monthly": f"{local(first, zone):%B %Y}",
    }
    return titles[of.meta.period] + (" so far" if parse_instant(of.created_at) <= last else "")


def _bounds(meta: rows.Meta) -> tuple[int, int]:
    return parse_instant(meta.period_start), parse_instant(meta.period_end) - 1


async def list_reports(call: BySignIn, refused: Mapping[str, str] = {}) -> Response:
    number = min(max(integer(call.query, "page") or 1, 1), OFFSET_MAX // PAGE_ROWS)
    listed = await call.read(rows.reports, PAGE_ROWS + 1, (number - 1) * PAGE_ROWS)
    newest = next((each for each in listed if each.status == "completed"), None) if number == 1 else None
    read = None if newest is None else await call.read(rows.report, UUID(newest.report_id))
    return await call.show(
        "reflection/reports.html",
        400 if refused else 200,
        refused=refused,
        newest=read,
        **({} if read is None else _shown(read, ROWS_OF_NEWEST)),
        listed=listed[:PAGE_ROWS],
        more=len(listed) > PAGE_ROWS,
        number=number,
        unfinished=[each for each in listed if each.status in UNFINISHED],
        periods=PERIODS,
        channels={each: CHANNELS[each] for each in call.service.settings.channels},
        title_of=title_of,
    )


async def ask_for(call: BySignIn, form: Form) -> Response:
    period: Schedule = one_of("period", form.get("period", ""), PERIODS)
    try:
        started = await api.generate(call, api.GenerateBody(period=period, date=form.get("date") or None))
    except HttpError as error:
        if error.status != 400:
            raise
        return await list_reports(call, form)
    return rendering.redirect(f"/reports/{started.report_id}")


async def report(call: BySignIn, report_id: UUID) -> Response:
    read = found(await call.read(rows.report, report_id), "no report of this address is yours")
    return await call.show(
        "reflection/report.html",
        title=title_of(read),
        state=SAID["report_states"][read.status],
        unfinished=read.status in UNFINISHED,
        notices=await _told(call, report_id),
        **_shown(read, ROWS_SHOWN),
    )


def _shown(read: rows.ReportRecord, rows_max: int) -> dict[str, Any]:
    """What a report says, with its drawings; of goals and files so many."""
    # There are no sections where it is not made yet, or its words have been forgotten.
    shown: Section = Section() if read.sections is None else json.loads(bytes(read.sections), object_hook=Section)
    score = shown["score"]
    reached, decided, undecided = (score[name] or 0 for name in ("crushed_count", "decided_count", "undecided_count"))
    interval = Interval(**score["interval"]) if score["interval"] else None
    sentence = rate_told(reached, decided, undecided, interval)
    parts = (("reached", reached), ("missed", decided - reached), ("undecided", undecided))
    first, last = (local(at_us, ZoneInfo(read.meta.timezone)).date() for at_us in _bounds(read.meta))
    edited = [each for each in shown["files"]["items"] or () if each["edits"]]
    return {
        "report": read,
        "shown": shown,
        "sentence": sentence,
        "outcome_bar": charts.share(sentence, parts),
        "tasks": _goals(shown, rows_max),
        "days": urlencode({"from": first, "to": last}),
        "files": edited[:rows_max],
        "more_files": len(edited) > rows_max,
    }


def _goals(shown: Section, rows_max: int) -> list[Section]:
    """With how long each was worked on; an old report does not tell how each came out."""
    told = {each["score_v3_sub_session_id"]: each for each in shown["goals"]["goals"] or ()}
    return [
        Section({**each, **told.get(each["subSessionId"], {})})
        for each in (shown["taskTime"]["items"] or ())[:rows_max]
    ]


async def _told(call: BySignIn, report_id: UUID) -> list[tuple[str, Try, int | None]]:
    """What came of telling the developer that it is finished: by what, the last try, and when the next one is."""
    tries = {channel: await call.read(rows.report_tries, report_id, channel) for channel in CHANNELS}
    return [(CHANNELS[channel], made[-1], next_try_us(made[-1].at_us, made)) for channel, made in tries.items() if made]


async def cancel(call: BySignIn, report_id: UUID) -> Response:
    await api.cancel(call, report_id)
    return rendering.redirect(f"/reports/{report_id}")


async def delete(call: BySignIn, report_id: UUID) -> Response:
    await api.delete(call, report_id)
    return rendering.redirect("/reports?said=report-deleted")


async def schedule(call: BySignIn, form: Form) -> Response:
    wanted = tuple(each for each in PERIODS if each in form)
    offered = call.service.settings.channels
    notices = tuple(each for each in offered if each in form) if offered else None
    change = ChangeDeveloper(developer_id=call.scope.developer_id, report_schedules=wanted, report_notices=notices)
    accepted(await call.service.administer(change))
    return rendering.redirect("/reports?said=saved")
