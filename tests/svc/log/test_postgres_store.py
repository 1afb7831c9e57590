"""What a log in PostgreSQL does besides the contract: fences, leases, wrapped keys, commits without an answer."""

import os
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from threading import Barrier
from typing import Any
from uuid import uuid4

import psycopg
import pytest

from aggregates.people.acts import CreateDeveloper
from svc.log.codec import Codec
from svc.log.opening import Leases, SharedKeys, make_master_key, make_missing_master_key, open_log, read_master_key
from svc.log.postgres import PostgresRecorder, open_recorder, shown
from svc.log.store import Conflict, EventStore, LeaseFence, StoreUnavailable, TopicsFence, current_fences, fenced
from svc.log.vault import Vault
from svc.process import Place
from svc.settings import Settings, SettingsError, load_settings
from tests.support.basics import ANA, MemoryKeys, created, new, prompt
from tests.support.driver import until
from tests.support.postgres import Postgres, as_role
from tests.support.process import svc

NOWHERE = "postgresql://svc@127.0.0.1:1/none"


@pytest.fixture
def recorder(shared_store: str) -> Iterator[PostgresRecorder]:
    with closing(open_recorder(shared_store)) as made:
        yield made


@pytest.fixture
def store(recorder: PostgresRecorder) -> EventStore:
    return EventStore(recorder, Codec(Vault(MemoryKeys())))


def test_a_refused_append_leaves_no_gap(store: EventStore) -> None:
    """The position is given back with the rest, so a gap always tells of an event that was deleted."""
    store.append([new("s")])
    with pytest.raises(Conflict):
        store.append([new("t"), new("s")])
    assert store.append([new("u")]) == [2]


def test_a_change_of_people_is_refused_after_another_nodes(store: EventStore) -> None:
    """What was decided from the directory as it was does not hold any more."""
    (first,) = store.append([new("ana", event=created("ana"))])
    fence = TopicsFence((CreateDeveloper.TOPIC,), first)
    store.append([new("s")])
    assert store.insert([store.encode([new("ben", event=created("ben"))])], [fence]) == [[3]]
    with pytest.raises(Conflict):
        store.insert([store.encode([new("cleo", event=created("cleo"))])], [fence])


def test_who_lost_a_lease_writes_nothing_any_more(recorder: PostgresRecorder, store: EventStore) -> None:
    """The one who took it over counts on."""
    mine, theirs = Leases(recorder, "mine"), Leases(recorder, "theirs")
    assert mine.held(["clock", "reports"]) == {"clock": 1, "reports": 1}
    assert mine.held(["clock"]) == {"clock": 1}
    assert theirs.held(["clock"]) == {}
    recorder.rows("UPDATE {schema}.svc_leases SET expires_at = now() - interval '1 s' WHERE name = 'clock'")
    store.insert([store.encode([new("a")])], [LeaseFence("clock", 1)])
    assert theirs.held(["clock", "reports"]) == {"clock": 2}
    with pytest.raises(Conflict):
        store.insert([store.encode([new("b")])], [LeaseFence("clock", 1)])
    with fenced(LeaseFence("clock", 1)), pytest.raises(Conflict):
        store.take_words({store.append([new("p", event=prompt("x"))])[0]: ()})
    assert current_fences() == ()
    mine.release()
    assert theirs.held(["reports"]) == {"reports": 2}


def test_a_commit_whose_answer_was_lost_is_looked_up(store: EventStore, recorder: PostgresRecorder) -> None:
    """What has happened is found, and what has not is done: each stands there once."""
    insert, committed = recorder._inserted, [True, False]

    def lost(*arguments: Any) -> list[int]:
        recorder._inserted = insert  # type: ignore[method-assign]
        if committed.pop(0):
            recorder.insert_events(arguments[1])
        raise psycopg.OperationalError("server closed the connection unexpectedly")

    for positions, names in (([1, 2], "ab"), ([3], "c")):
        recorder._inserted = lost  # type: ignore[method-assign, assignment]
        assert store.append([new(name) for name in names]) == positions
    assert [each.position for each in store.read_after(0)] == [1, 2, 3]


def test_two_nodes_make_the_tables_at_once(shared_store: str) -> None:
    """One makes them, the other waits and finds them."""
    together = Barrier(4)

    def opened() -> int | None:
        together.wait()
        with closing(open_recorder(shared_store)) as recorder:
            head = recorder.max_notification_id()
        return head

    with ThreadPoolExecutor(4) as nodes:
        assert [each.result() for each in [nodes.submit(opened) for _ in range(4)]] == [None] * 4


def test_a_server_that_ends_every_connection_costs_nothing(store: EventStore, postgres: Postgres) -> None:
    """Pooled connections are looked at before they are used."""
    store.append([new("a")])
    ended = "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE application_name = 'svc'"  # and wait
    postgres.run(ended)
    assert store.append([new("b")]) == [2]
    assert len(store.read_after(0)) == 2


def test_who_still_waits_for_news_at_the_end_opens_no_connection(shared_store: str, postgres: Postgres) -> None:
    """A node that stops leaves the thread that waits to itself."""
    recorder = open_recorder(shared_store)
    recorder.wait_for_news(0)
    with ThreadPoolExecutor(1) as left:
        waiting = left.submit(recorder.wait_for_news, 0.2)
        recorder.close()
        waiting.result()
    recorder.wait_for_news(0)
    listening = "SELECT query FROM pg_stat_activity WHERE query ~ '^LISTEN'"
    assert until(lambda: postgres.run(listening) == [], 10)


def test_data_keys_are_wrapped_in_the_store(recorder: PostgresRecorder, tmp_path: Path) -> None:
    """No row holds one; the first one made stays; another master key opens nothing."""
    make_master_key(tmp_path / "master")
    make_master_key(tmp_path / "other")
    keys = SharedKeys(recorder, read_master_key(tmp_path / "master"))
    keys.prove()
    key = os.urandom(32)
    assert keys.keep(ANA, key) == key
    assert keys.keep(ANA, os.urandom(32)) == keys.load(ANA) == key
    assert all(key not in bytes(row["wrapped"]) for row in recorder.rows("SELECT wrapped FROM {schema}.svc_keys"))
    with pytest.raises(StoreUnavailable, match="not the master key"):
        SharedKeys(recorder, read_master_key(tmp_path / "other")).prove()
    keys.destroy(ANA)
    assert keys.load(ANA) is None


def test_a_node_needs_its_master_key(shared_store: str, tmp_path: Path) -> None:
    """It says where one belongs, and who else may not read it."""
    master = tmp_path / "master"
    place = Place(tmp_path, shared_store, master)
    with pytest.raises(StoreUnavailable, match="there is no master key in"):
        open_log(place)
    assert make_master_key(master)
    assert not make_master_key(master)
    master.chmod(0o644)
    with pytest.raises(SettingsError, match="chmod 600"):
        open_log(place)
    master.chmod(0o600)
    with closing(open_log(place)) as store:
        store.append([new("p", event=prompt("hello"))])
    master.write_text("no key")
    with pytest.raises(StoreUnavailable, match="64 hex digits"):
        open_log(place)


def test_a_master_key_is_made_for_a_new_store_only(shared_store: str, tmp_path: Path) -> None:
    """A node that lacks the key of a store that is set up is told so, and no wrong file lies in its place."""
    first, second = tmp_path / "first", tmp_path / "second"
    told = {"SVC_STORE": shared_store, "SVC_MASTER_KEY_FILE": str(first)}
    assert not make_missing_master_key(tmp_path, NOWHERE), "who has a file needs no store for that"
    assert "the master key is in" in svc("init", "--var", tmp_path / "a", told=told).stderr
    told["SVC_MASTER_KEY_FILE"] = str(second)
    refused = svc("init", "--var", tmp_path / "b", told=told, check=False)
    assert (refused.returncode, second.exists()) == (1, False)
    assert f"the store is set up already, and there is no master key in {second}: copy" in refused.stderr
    second.write_bytes(first.read_bytes())
    second.chmod(0o600)
    assert "is set up already" in svc("init", "--var", tmp_path / "b", told=told, check=False).stderr


def test_a_store_that_is_not_there_says_so_without_its_password(tmp_path: Path) -> None:
    """The address is shown as far as it holds no secret."""
    make_master_key(tmp_path / "master")
    with pytest.raises(StoreUnavailable, match=r"postgresql://127\.0\.0\.1:1/none: .*refused") as caught:
        open_log(Place(tmp_path, "postgresql://svc:hush@127.0.0.1:1/none", tmp_path / "master"))
    assert "hush" not in str(caught.value)
    assert shown("postgresql://:hush@/x") == "postgresql:///x"


def test_a_store_is_an_address_with_a_master_key() -> None:
    """And neither is shown by the settings."""
    with pytest.raises(SettingsError, match="store is no address"):
        load_settings({"store": "mysql://x", "master_key_file": "k"}, {})
    with pytest.raises(SettingsError, match="store needs master_key_file"):
        load_settings({"store": NOWHERE}, {})
    assert "127.0.0.1:1" not in repr(Settings(store=NOWHERE, master_key_file="k"))


def test_a_role_with_the_least_rights_serves(shared_store: str, postgres: Postgres, tmp_path: Path) -> None:
    """Whoever owns the tables made them; a node's own role only reads and writes rows."""
    open_recorder(shared_store).close()
    make_master_key(tmp_path / "master")
    schema, role = shared_store.rpartition("%3D")[2], f"node_{uuid4().hex}"
    postgres.run(f"CREATE ROLE {role} LOGIN PASSWORD 'least'")
    postgres.run(f"GRANT USAGE ON SCHEMA {schema} TO {role}")
    postgres.run(f"GRANT SELECT, INSERT, UPDATE ON ALL TABLES IN SCHEMA {schema} TO {role}")
    postgres.run(f"GRANT DELETE ON {schema}.svc_keys TO {role}")
    try:
        with closing(open_log(Place(tmp_path, as_role(shared_store, role, "least"), tmp_path / "master"))) as store:
            (position,) = store.append([new("p", event=prompt("hello"))])
            assert store.shared is not None
            assert Leases(store.shared, "me").held(["clock"]) == {"clock": 1}
            assert store.insert([store.encode([new("q")])], [LeaseFence("clock", 1)]) == [[2]]
            assert store.take_words({position: ()}) == 1
            store.sweep()
            store.vault.destroy(ANA)
            store.check_writable()
    finally:
        postgres.run(f"DROP OWNED BY {role}")
        postgres.run(f"DROP ROLE {role}")


def test_without_the_driver_a_store_says_how_to_get_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The extra is named, and the two ways that have it."""
    monkeypatch.delitem(sys.modules, "svc.log.postgres")
    monkeypatch.setitem(sys.modules, "psycopg", None)
    for asked in (open_log, lambda place: make_missing_master_key(place.master_key_file, NOWHERE)):
        with pytest.raises(StoreUnavailable, match=r"pip install 'svc\[postgres\]'"):
            asked(Place(tmp_path, NOWHERE, tmp_path / "master"))
    assert not (tmp_path / "master").exists()
