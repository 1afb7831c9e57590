"""A log in another place: into PostgreSQL and back it is the same log, with its keys and its scores."""

from contextlib import closing
from pathlib import Path

import pytest

from aggregates.event import Mendable
from svc.log.folder import held
from svc.log.opening import make_master_key, open_log
from svc.maintenance.verify import verify
from svc.process import READ_BYTES_MAX, Place
from tests.cluster import copying
from tests.cluster.copying import copy_log
from tests.support.basics import new, prompt
from tests.support.household import household, no_progress, rebuilt


async def test_a_log_goes_into_postgres_and_back(
    shared_store: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Broken off half-way it goes on; both ways give the same digest, and the same scores as before."""
    master = tmp_path / "master"
    make_master_key(master)
    there, back = Place(tmp_path / "node", shared_store, master), Place(tmp_path / "back")
    there.var.mkdir()
    async with household(tmp_path / "var") as house:
        await house.work()
        await house.work(house.other, "s2")
        await house.level()

    def interrupted(done: int, of: int) -> None:
        if done > of / 4:
            raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(copying, "COPY_EVENTS", 3)
        with pytest.raises(KeyboardInterrupt):
            copy_log(Place(tmp_path / "var"), there, interrupted)
    copied = copy_log(Place(tmp_path / "var"), there, no_progress)
    assert copy_log(there, back, no_progress) == copied
    assert copy_log(Place(tmp_path / "var"), there, no_progress) == copied
    assert (await verify(back, no_progress)).findings == []
    assert (await verify(there, no_progress)).findings == []
    tables = rebuilt(tmp_path / "var", tmp_path / "one.db")
    assert rebuilt(back.var, tmp_path / "two.db") == tables
    assert rebuilt(there, tmp_path / "three.db") == tables


def test_a_log_is_not_copied_over_another(shared_store: str, tmp_path: Path) -> None:
    """Its first events are not the source's; nothing is changed."""
    master = tmp_path / "master"
    make_master_key(master)
    source, target = Place(tmp_path / "var"), Place(tmp_path / "node", shared_store, master)
    for place, name in ((source, "a"), (target, "b")):
        place.var.mkdir(0o700, exist_ok=True)
        with held(place.var), closing(open_log(place)) as store:
            store.append([new(name, event=prompt(name))])
    with pytest.raises(Mendable, match="not the first of the source"):
        copy_log(source, target, no_progress)
    with closing(open_log(target)) as store:
        assert len(store.recorder.select_after(0, 9, READ_BYTES_MAX)) == 1
