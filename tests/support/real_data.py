"""The real captures, which are no part of the project: where they lie, and the marks of tests that read them."""

import os
from pathlib import Path

import msgspec
import pytest

from svc.importer import import_claude_code
from tests.support.captures import Actor
from tests.support.facts import ANA, DIGESTER, Placed

_NAMED = os.environ.get("SVC_REAL_DATA")
FOLDER = Path(_NAMED or "")

NEEDS_REAL_DATA = [
    pytest.mark.real_data,
    pytest.mark.skipif(not _NAMED, reason="SVC_REAL_DATA names no folder of real captures"),
]
"""For a module's `pytestmark`."""

TRANSCRIPTS = ("entire-checkpoints/transcripts", "sniffly-mock-data")
LONG_AFTER_US = 1_800_000_000 * 1_000_000
"""When the server took it all: later than any line, so that no time counts as skewed."""


async def imported_transcripts() -> list[Placed]:
    """The facts of every real transcript, in the order of their import."""
    actor = Actor()
    for folder in TRANSCRIPTS:
        await import_claude_code(
            FOLDER / folder, actor.send, lambda progress: None, scope=ANA, digester=DIGESTER, now_us=LONG_AFTER_US
        )
    received = [msgspec.structs.replace(event, received_at_us=LONG_AFTER_US) for event in actor.events]
    return [Placed(number, event) for number, event in enumerate(received, 1)]
