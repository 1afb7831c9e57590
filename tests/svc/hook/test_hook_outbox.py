"""What a hook keeps while the server is away, and how it sends it: in this process."""

import json
import os
import ssl
import time
from http.client import BadStatusLine
from pathlib import Path

import pytest

from svc.hook.machine import PAUSE_SECONDS, Letter, Outbox
from svc.hook.main import Sender, send
from tests.support.listening import closed, intake, silent
from tests.svc.hook.test_hook import CONNECTION, folders

__all__ = ["folders"]

SHORT_SECONDS = 0.2


# --- the outbox -------------------------------------------------------------------------------------------


def letters(count: int) -> list[Letter]:
    return [Letter("/v1/prompts", {"client_event_id": str(number)}) for number in range(count)]


def numbers(outbox: Outbox) -> list[str]:
    return [json.loads(path.read_bytes())["body"]["client_event_id"] for path in outbox.waiting()]


def test_what_was_accepted_waits_in_order(tmp_path: Path) -> None:
    outbox = Outbox(tmp_path / "c")
    for letter in letters(3):
        outbox.accept(letter)
    assert numbers(outbox) == ["0", "1", "2"]
    assert {path.stat().st_mode & 0o777 for path in outbox.folder.iterdir()} == {0o600}
    assert outbox.folder.stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize(
    ("bound", "most", "left"),
    [("OUTBOX_FILES_MAX", 2, ["2", "3"]), ("OUTBOX_BYTES_MAX", 1, ["3"]), ("OUTBOX_SECONDS_MAX", 60, ["2", "3"])],
)
def test_an_outbox_has_bounds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, bound: str, most: int, left: list[str]
) -> None:
    """In number, in bytes, in age: what came last stays, and what was given up is counted."""
    monkeypatch.setattr(f"svc.hook.machine.{bound}", most)
    outbox = Outbox(tmp_path / "c")
    for number, letter in enumerate(letters(4)):
        outbox.accept(letter)
        if number == 1 and bound == "OUTBOX_SECONDS_MAX":
            for path in outbox.waiting():
                os.utime(path, (0, 0))
    assert (numbers(outbox), outbox.given_up()) == (left, 4 - len(left))


def test_a_disk_that_is_full_keeps_nothing_and_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    outbox = Outbox(tmp_path / "c")
    outbox.accept(letters(1)[0])

    def full(_: int) -> None:
        raise OSError(28, os.strerror(28))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        outbox.accept(letters(2)[1])
    assert numbers(outbox) == ["0"]
    assert [path.name for path in outbox.folder.iterdir() if path.name.startswith(".")] == []


# --- sending ----------------------------------------------------------------------------------------------


def sent(url: str, outbox: Outbox, seconds: float = 5.0) -> None:
    send(CONNECTION._replace(url=url), outbox, time.monotonic() + seconds)


def box(tmp_path: Path, count: int = 3) -> Outbox:
    outbox = Outbox(tmp_path / "c")
    for letter in letters(count):
        outbox.accept(letter)
    return outbox


@pytest.mark.parametrize("status", [200, 201, 204])
def test_what_the_server_took_is_gone(tmp_path: Path, status: int) -> None:
    outbox = box(tmp_path)
    with intake(status) as server:
        sent(server.url + "/behind/a/proxy", outbox)
        sent(server.url, outbox)
    assert [each["client_event_id"] for each in server.received] == ["0", "1", "2"]
    assert server.paths == ["/behind/a/proxy/v1/prompts"] * 3
    assert (outbox.waiting(), outbox.notes().get("dead")) == ([], None)


@pytest.mark.parametrize("status", [401, 403, 429, 500, 502, 503, 301, 404, 405])
def test_what_may_be_taken_later_waits(tmp_path: Path, status: int) -> None:
    """Behind a key that is refused, a server without time, an address where something else answers: in order."""
    outbox = box(tmp_path)
    with intake(status) as server:
        sent(server.url, outbox)
        assert [each["client_event_id"] for each in server.received] == ["0"]
        assert outbox.notes()["failure"]["what"] == f"HTTP {status}"
        server.status, server.received = 204, []
        sent(server.url, outbox)
        assert [each["client_event_id"] for each in server.received] == ["0", "1", "2"]


@pytest.mark.parametrize("status", [400, 409, 413, 415])
def test_what_is_refused_for_good_holds_nobody_up(tmp_path: Path, status: int) -> None:
    """It is remembered for `svc doctor`, without its text."""
    outbox = box(tmp_path)
    with intake(status) as server:
        sent(server.url, outbox)
    assert outbox.waiting() == []
    dead = outbox.notes()["dead"]
    assert [(each["id"], each["status"]) for each in dead] == [("0", status), ("1", status), ("2", status)]
    assert set(dead[0]) == {"at", "path", "id", "status"}


def test_an_answer_to_a_prompt_that_the_server_does_not_know_is_refused_for_good(tmp_path: Path) -> None:
    """404 from this route is about the prompt, not about the address."""
    outbox = Outbox(tmp_path / "c")
    outbox.accept(Letter("/v1/prompts/response", {"client_event_id": "0"}))
    with intake(404) as server:
        sent(server.url, outbox)
    assert (outbox.waiting(), outbox.notes()["dead"][0]["status"]) == ([], 404)


def test_a_record_that_was_refused_alone_is_remembered(tmp_path: Path) -> None:
    outbox = box(tmp_path, 1)
    with intake(200) as server:
        server.body = b'{"partialSuccess": {"rejectedLogRecords": "1"}}'
        sent(server.url, outbox)
    assert outbox.notes()["dead"][0]["status"] == "refused in part"


def test_a_file_that_cannot_be_read_holds_nobody_up(tmp_path: Path) -> None:
    outbox = box(tmp_path)
    outbox.waiting()[0].write_text("{torn")
    with intake() as server:
        sent(server.url, outbox)
    assert [each["client_event_id"] for each in server.received] == ["1", "2"]


@pytest.mark.parametrize(
    "error",
    [
        ssl.SSLCertVerificationError(1, "certificate verify failed"),
        ssl.SSLError(1, "wrong version number"),
        UnicodeError("label too long"),
        BadStatusLine("nonsense"),
        ConnectionResetError(104, "Connection reset by peer"),
    ],
    ids=repr,
)
def test_whatever_goes_wrong_on_the_way_nothing_is_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    """A certificate that is refused is a ValueError, too: it says nothing about the capture."""

    def broken(*_: object) -> None:
        raise error

    outbox = box(tmp_path)
    monkeypatch.setattr(Sender, "_post", broken)
    sent("https://localhost:1", outbox)
    assert (numbers(outbox), outbox.notes().get("dead")) == (["0", "1", "2"], None)
    assert outbox.notes()["failure"]["what"]


def test_a_server_that_is_down_is_noticed_at_once(tmp_path: Path) -> None:
    outbox = box(tmp_path)
    sent(closed(), outbox)
    assert len(outbox.waiting()) == 3
    with intake() as server:
        sent(server.url, outbox)
    assert len(server.received) == 3


def test_a_server_that_hangs_is_waited_for_once(tmp_path: Path) -> None:
    """For as long as there is time; then nobody waits for it for a while."""
    outbox = box(tmp_path)
    with silent() as url:
        began = time.monotonic()
        sent(url, outbox, SHORT_SECONDS)
        assert SHORT_SECONDS <= time.monotonic() - began < SHORT_SECONDS + 1
        began = time.monotonic()
        sent(url, outbox)
        assert time.monotonic() - began < SHORT_SECONDS
    assert 0 < outbox.notes()["pause_until"] - time.time() <= PAUSE_SECONDS
    outbox.note(pause_until=0)
    with intake() as server:
        sent(server.url, outbox)
    assert [each["client_event_id"] for each in server.received] == ["0", "1", "2"]


def test_one_sends_at_a_time(tmp_path: Path) -> None:
    outbox = box(tmp_path)
    with intake() as server, outbox.sending() as ours:
        sent(server.url, outbox)
        assert (ours, server.received) == (True, [])
