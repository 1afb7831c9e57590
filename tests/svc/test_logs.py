"""The log itself: one JSON object a line, with the request it belongs to, and without what an exception quotes."""

import json
from contextlib import suppress
from typing import Any

import pytest
import structlog

from svc.log.store import StoreUnavailable
from svc.logs import count_errors, set_up_logs
from svc_http.listener import REQUEST_ID

WORDS = "the merger with Initech"


def logger() -> Any:
    """The log of a process that serves; to be asked for within a test, for it writes to the standard error of then."""
    set_up_logs("debug")
    return structlog.get_logger()


def lines(capsys: pytest.CaptureFixture[str]) -> list[dict[str, str]]:
    return [json.loads(line) for line in capsys.readouterr().err.splitlines()]


def test_a_line_carries_the_request_it_belongs_to(capsys: pytest.CaptureFixture[str]) -> None:
    """Whoever logs it; outside of requests there is none."""
    log = logger()
    log.info("before")
    token = REQUEST_ID.set("r-1")
    log.warning("within")
    REQUEST_ID.reset(token)
    assert [line.get("request_id") for line in lines(capsys)] == [None, "r-1"]


def test_a_line_that_cannot_be_written_stops_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    """The disk that takes the log is full; what is counted of it is counted all the same."""
    errors: list[str] = []
    count_errors(errors.append)
    with suppress(OSError), open("/dev/full", "w", encoding="utf-8") as full:
        monkeypatch.setattr("sys.stderr", full)
        logger().error("the store cannot be written")
        logger().exception("nor can it be read")
    assert len(errors) == 2


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (ValueError(f"invalid literal: {WORDS}"), "builtins.ValueError"),
        (KeyError(WORDS), "builtins.KeyError"),
        (StoreUnavailable("disk is full"), "svc.log.store.StoreUnavailable: disk is full"),
        (FileNotFoundError(2, "No such file", "/var/x"), "FileNotFoundError: [Errno 2] No such file: '/var/x'"),
        (ExceptionGroup("some", [ValueError(WORDS), OSError("gone")]), "builtins.OSError: gone"),
    ],
)
def test_an_exception_tells_its_place_and_not_what_it_quotes(
    capsys: pytest.CaptureFixture[str], error: Exception, told: str
) -> None:
    """Of exceptions that may quote what was sent only the type is told; its cause too."""
    log = logger()
    try:
        try:
            raise RuntimeError(WORDS)
        except RuntimeError as cause:
            raise error from cause
    except Exception:
        log.exception("it broke")
    (line,) = lines(capsys)
    assert told in line["exception"]
    assert "builtins.RuntimeError" in line["exception"]
    assert "test_logs.py" in line["exception"]
    assert WORDS not in json.dumps(line)


def test_errors_are_counted_by_their_message(capsys: pytest.CaptureFixture[str]) -> None:
    log = logger()
    errors: list[str] = []
    count_errors(errors.append)
    for number in range(3):
        log.error("it broke", number=number)
    log.warning("it nearly broke")
    assert errors == ["it broke"] * 3
