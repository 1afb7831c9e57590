"""What the text of a failed request tells beside its message: the status, and how long to wait."""

import re

_HEAD_CHARACTERS = 400
_STATUS = re.compile(r"(?:API Error:? ?\(?|^)([45]\d\d)\b")
_WAIT = re.compile(
    r"(?:try again|retry|wait)\S* (?:in|after|for)[: ]+(\d+(?:\.\d+)?) ?(ms|s|sec|seconds?|m|minutes?)\b", re.I
)
_MS_OF = {"ms": 1, "s": 1_000, "sec": 1_000, "second": 1_000, "seconds": 1_000, "m": 60_000, "minute": 60_000}
_WAIT_MS_MAX = 30 * 24 * 3_600_000


def status_in(message: str | None) -> int | None:
    """The HTTP status that an error's text begins with."""
    match = _STATUS.search((message or "")[:_HEAD_CHARACTERS])
    return int(match.group(1)) if match else None


def wait_in(message: str | None) -> int | None:
    """Milliseconds that a provider asks to wait, where its message says so."""
    match = _WAIT.search((message or "")[:_HEAD_CHARACTERS])
    if match is None:
        return None
    waited = round(float(match.group(1)) * _MS_OF.get(match.group(2).lower(), 60_000))
    return waited if waited <= _WAIT_MS_MAX else None
