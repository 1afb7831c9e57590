"""Open, replay and read a folder that an earlier program wrote: everything is as it was."""

import base64
from pathlib import Path
from uuid import UUID, uuid4

import msgspec
import pytest
import trio
from eventsourcing.persistence import StoredEvent

from aggregates.event import NewEvent
from svc.log.codec import Codec
from svc.log.opening import open_log
from svc.log.vault import Vault
from svc.process import Place
from tests.golden import folder
from tests.golden.folder import Json, answers, expected, rebuilt_tables, stored_events, words_of
from tests.support.basics import MemoryKeys
from tests.support.postgres import Postgres, in_schema
from tests.support.process import svc

SHOWN_MAX = 20
FORGOTTEN = "cleo"


@pytest.fixture
def var(tmp_path: Path) -> Path:
    return folder.unpacked(tmp_path)


def check_same(what: str, wanted: Json, found: Json) -> None:
    places = list(folder.differences(wanted, found))
    if places:
        more = f"\n  … and {len(places) - SHOWN_MAX} more" if len(places) > SHOWN_MAX else ""
        pytest.fail(
            f"{what} of the golden folder changed:\n  " + "\n  ".join(places[:SHOWN_MAX]) + more + "\n"
            "The folder was written by an earlier program, and people have such folders. If an issue asks for this "
            "change, run `python -m tests.golden.write`, which reads the folder anew and never "
            "writes it, and list every difference in CHANGELOG.md. Otherwise it is a fault of the program.",
            pytrace=False,
        )


class SealedAsTheyAre(Vault):
    """Opens no seal and makes none: a sealed text goes through a decoded event as it stands in the log."""

    def __init__(self) -> None:
        super().__init__(MemoryKeys())

    def open(self, sealed: bytes) -> str | None:
        return sealed.decode("latin-1")

    def seal(self, developer_id: UUID, text: str) -> bytes:
        return text.encode("latin-1")


class Parts(msgspec.Struct):
    fields: bytes
    digests: dict[str, bytes]  # of each text that it was written with
    texts: dict[str, bytes]  # those that are still there, sealed


def parts_of(stored: StoredEvent) -> Parts:
    """Form, version and checksum are 18 bytes, the length of the fact 4; then come the fact and the texts."""
    end = 22 + int.from_bytes(stored.state[18:22], "little")
    fields, digests = msgspec.msgpack.decode(stored.state[22:end])
    texts = msgspec.msgpack.decode(stored.state[end:]) if stored.state[end:] else {}
    return Parts(msgspec.msgpack.encode(fields), digests, texts)


NEWER = {"access.claimed", "identity.ended"}


def test_every_topic_of_the_log_is_still_known(var: Path) -> None:
    found = folder.topics_of(var)
    check_same("a topic", expected().topics, found)
    assert sorted({*found, *NEWER}) == folder.TOPICS.read_text().split()


def test_every_event_is_stored_again_as_the_same_bytes(var: Path) -> None:
    """A decoded event holds all that was stored, and its topic, its fields and their order are what they were."""
    codec = Codec(SealedAsTheyAre())
    for stored in stored_events(var):
        recorded = codec.to_domain_event(stored)
        again = codec.to_stored_event(NewEvent(recorded.stream_id, recorded.version, recorded.event))
        parts = parts_of(stored)
        if parts.digests.keys() == parts.texts.keys():
            assert again.state == stored.state, f"position {stored.id}: {stored.topic}"
        # The digest of a text that is gone cannot be made again.
        assert parts_of(again).fields == parts.fields, f"position {stored.id}: {stored.topic}"
        assert again.topic == stored.topic, f"position {stored.id}"


def test_words_open_but_those_of_the_forgotten(var: Path) -> None:
    """Words that have expired, or are a forgotten person's, are gone; all others can be read."""
    wanted = expected()
    found = words_of(var, wanted.asked.developers)
    check_same("the words", wanted.words, found)
    assert found[FORGOTTEN]["readable"] == 0
    assert found[FORGOTTEN]["gone"] > 0


def test_a_text_from_a_backup_opens_but_that_of_the_forgotten(var: Path) -> None:
    """These sealed texts were copied from the log before anything was taken from it."""
    store = open_log(var)
    store.close()
    opened = {name: store.vault.open(base64.b64decode(sealed)) for name, sealed in expected().sealed.items()}
    assert {name for name, text in opened.items() if text is None} == {FORGOTTEN}


def test_the_copy_in_postgresql_gives_the_same_words_and_tables(postgres: Postgres, tmp_path: Path) -> None:
    """A log that an earlier program copied there, with the keys under a master key."""
    wanted, schema, key = expected(), f"svc_{uuid4().hex}", tmp_path / "master.key"
    key.write_bytes(folder.MASTER_KEY.read_bytes())
    key.chmod(0o600)
    postgres.run(folder.shared_log(schema))
    try:
        place = Place(tmp_path, in_schema(postgres.url, schema), key)
        check_same("the words", wanted.words, words_of(place, wanted.asked.developers))
        check_same("a table", wanted.tables, rebuilt_tables(place, tmp_path / "views.db"))
    finally:
        postgres.run(f"DROP SCHEMA {schema} CASCADE")


@pytest.mark.parametrize("views", ["as they were written", "built anew"])
def test_the_service_answers_the_same(var: Path, views: str) -> None:
    """Over the views in the folder, or where another program wrote those, over new ones."""
    for path in var.glob(folder.VIEWS) if views == "built anew" else ():
        path.unlink()
    wanted = expected()
    paths = {name: list(reads) for name, reads in wanted.reads.items()}
    check_same("an answer", wanted.reads, trio.run(answers, var, wanted.asked, paths))
    assert len(list(stored_events(var))) == wanted.head, "reading appends nothing"


@pytest.mark.process
def test_two_hash_seeds_give_the_tables_that_serve(var: Path) -> None:
    """`svc replay --check` builds twice in processes of their own, and compares with the tables in the folder."""
    trio.run(answers, var, expected().asked, {})
    done = msgspec.json.decode(svc("replay", "--var", var, "--check", "--json").stdout)
    check_same("a table", expected().tables, rebuilt_tables(var, var.with_name("views.db")))
    wanted = {table: each["sha256"] for table, each in expected().tables.items()}
    check_same("a table", wanted, {each["table"]: each["first"] for each in done["tables"]})
    assert done["identical"]


def test_a_difference_is_told_with_its_place_and_the_way_on() -> None:
    """Which value, what was expected, what was found, and how a wanted change is accepted."""
    wanted, found = {"ana": {"/score": [{"value": 1.5}]}}, {"ana": {"/score": [{"value": 2}, {}]}}
    with pytest.raises(pytest.fail.Exception) as failure:
        check_same("an answer", wanted, found)
    assert "ana > /score: expected 1 items, found 2" in str(failure.value)
    assert "ana > /score[0] > value: expected 1.5, found 2" in str(failure.value)
    assert "python -m tests.golden.write" in str(failure.value)
    assert "CHANGELOG.md" in str(failure.value)
