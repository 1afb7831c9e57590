"""By what people are told that their reports are finished: the settings of it, and it in the whole service."""

import time
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from aggregates.event import Words
from aggregates.people.acts import ChangeDeveloper
from aggregates.reports.decide import RETRY_SECONDS
from aggregates.reports.events import ReportCompleted, ReportStarted
from svc.jobs.notices import ReportNotices, mail_server, senders_of
from svc.log.opening import open_log
from svc.service import RunningService, lanes_of, open_service
from svc.serving import initialize
from svc.settings import Settings, SettingsError
from tests.support.memory import FixedClock
from tests.support.receivers import receiver
from tests.svc.jobs.test_notices import NOBODY, SECOND_US, SECRET, SECTIONS, by_webhook
from tests.svc.jobs.test_reports import about, wanted


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"smtp_url": "smtp://hush@h"}, "smtp_url and mail_from belong together"),
        ({"mail_from": "svc@example.com"}, "smtp_url and mail_from belong together"),
        ({"webhook_url": "https://hush.example"}, "webhook_url and webhook_secret belong together"),
        ({"webhook_secret": SECRET}, "webhook_url and webhook_secret belong together"),
        ({"webhook_url": "http://hush.example", "webhook_secret": SECRET}, "webhook_url is no address"),
        ({"webhook_url": "https://h.example", "webhook_secret": "hush"}, "webhook_secret must be whsec_"),
        ({"webhook_url": "https://h.example", "webhook_secret": "whsec_hush"}, "base64 of 24 to 64 random bytes"),
        ({"webhook_url": "https://h.example", "webhook_secret": "whsec_hush!"}, "base64 of 24 to 64 random bytes"),
        ({"smtp_url": "http://hush@h:25", "mail_from": "svc@example.com"}, "smtp_url is no address"),
        ({"smtp_url": "smtp://", "mail_from": "svc@example.com"}, "smtp_url is no address"),
        ({"smtp_url": "smtp://user:hu/sh@h", "mail_from": "svc@example.com"}, "smtp_url is no address"),
        ({"smtp_url": "smtp://user:h%FFush@h", "mail_from": "svc@example.com"}, "smtp_url is no address"),
        ({"smtp_url": "smtp://user:hüsh@h", "mail_from": "svc@example.com"}, "smtp_url is no address"),
        ({"smtp_url": "smtp://:hush@h", "mail_from": "svc@example.com"}, "smtp_url is no address"),
        ({"smtp_url": "smtp://h", "mail_from": "a@example.com, b@example.com"}, "mail_from must be one address"),
    ],
)
def test_a_setting_that_cannot_be_used_is_named_without_what_it_holds(settings: dict[str, Any], said: str) -> None:
    with pytest.raises(SettingsError, match=said) as error:
        senders_of(Settings(**settings))
    assert "hush" not in str(error.value)
    assert error.value.__cause__ is None


def test_a_mail_server_is_reached_where_such_servers_listen() -> None:
    """STARTTLS on 587, TLS from the first byte on 465, and none on this machine."""
    urls = ("smtp://mail.example", "smtps://mail.example", "smtp://localhost:2525")
    mails = [mail_server(url, "svc@example.com") for url in urls]
    assert [(each.port, each.tls) for each in mails] == [(587, "starttls"), (465, "at once"), (2525, "none")]


# --- in the whole service -----------------------------------------------------------------------------------------


async def test_the_log_of_a_folder_remembers_who_was_told(tmp_path: Path) -> None:
    """One process tries in vain, the next one goes on."""
    with receiver() as there:
        settings = replace(by_webhook(there.url), var=str(tmp_path / "var"))
        clock = FixedClock(int(time.time()) * SECOND_US)
        there.status = 503
        async with open_service(settings, clock=clock) as service:
            made = await initialize(service, tmp_path / "var")
            assert made is not None
            mine = {**about("one"), "organization_id": made.organization_id, "developer_id": made.developer_id}
            await service.administer(ChangeDeveloper(developer_id=made.developer_id, report_notices=("webhook",)))
            await service.send(replace(wanted("one", notices=("webhook",)), **mine))
            await service.send(ReportStarted(**mine))
            await service.send(ReportCompleted(**mine, rules_version=1, sections=Words(SECTIONS)))
            await service.projector.wait_for(service.store.head())
            first = ReportNotices(service, senders_of(settings), None)
            assert [await first.look() for _ in range(2)] == [1, 0]
        clock.advance(RETRY_SECONDS[0] * SECOND_US)
        there.status = 200
        async with open_service(settings, clock=clock) as service:
            second = ReportNotices(service, senders_of(settings), None)
            assert [await second.look() for _ in range(2)] == [1, 0]
        assert len({got.headers["webhook-id"] for got in there.received}) == 1
        assert len(there.received) == 2


@pytest.mark.parametrize("wanted", [True, False])
async def test_a_server_tells_people_where_its_settings_say_so(tmp_path: Path, wanted: bool) -> None:
    settings = replace(by_webhook(NOBODY) if wanted else Settings(), var=str(tmp_path))
    store, vault = open_log(settings.place)
    with closing(store), closing(RunningService(settings, store, vault, FixedClock(0), lasting=True)) as service:
        lanes = lanes_of(service, settings, lasting=True, reporting=True)
        owners = [type(getattr(lane, "__self__", None)) for lane in lanes]
        assert (ReportNotices in owners, service.settings.channels) == (wanted, ("webhook",) * wanted)
