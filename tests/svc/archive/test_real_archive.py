"""Real transcripts, imported and archived: the sums of the archive are those of the tokens pages."""

from contextlib import closing
from pathlib import Path

from aggregates.people.directory import Stay
from aggregates.times import Window
from projections.prices import Spent, TeamWindow, live_part
from svc.archive.folder import Archive
from svc.archive.lane import Budget, spending
from tests.support.facts import ANA, project
from tests.support.real_data import LONG_AFTER_US, NEEDS_REAL_DATA, imported_transcripts
from tests.support.requests import archive_all, fingerprint, newest, shown, stored

pytestmark = NEEDS_REAL_DATA


async def test_the_archive_tells_what_the_tokens_pages_tell(tmp_path: Path) -> None:
    """Every request once, whichever store it is read from; a transcript's requests all belong to turns."""
    views = project(await imported_transcripts())
    with closing(Archive(tmp_path, fingerprint)) as archive:
        ever = Window(0, LONG_AFTER_US)
        asked = TeamWindow(ever, (Stay(ANA.developer_id, ever.start_us, ever.end_us),))
        told = live_part(views, ANA.organization_id, asked, 0).spent[ANA.developer_id]
        archive_all(archive, views, rows_max=500)
        live = live_part(views, ANA.organization_id, asked, archive.mark.position)
        found = spending(archive, ANA.organization_id, asked, live, Budget(100_000, 2**40))
        assert found.coverage.reason == "complete"
        assert found.spent == {ANA.developer_id: told}
        assert newest(stored(archive.root)) == shown(views)
    shown_sums = views.execute(
        "SELECT sum(requests), sum(unpriced_requests), sum(lower_bound_requests), 0, sum(input_tokens), "
        "sum(output_tokens), sum(cache_read_tokens), sum(cache_write_tokens), sum(cost_usd_nano) FROM sub_sessions"
    ).fetchone()
    assert told == Spent(*shown_sums)
    assert told.requests > 100
