"""What lines of session files become, one case a line of `exchanges.txt`."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.support import chats, rollouts, transcripts
from tests.support.imported import exchanges_of
from tests.support.tables import each_of, lines_of
from tests.svc.importing import test_claude_code, test_codex_import, test_copilot_import, test_gemini_import

WRITTEN: dict[str, tuple[dict[str, Any], Callable[[list[Any]], bytes], str]] = {
    "claude-code": (
        vars(transcripts) | vars(test_claude_code),
        lambda lines: b"".join(transcripts.raw(*lines)),
        "stem.jsonl",
    ),
    "codex": (
        vars(rollouts) | vars(test_codex_import),
        lambda lines: rollouts.raw([rollouts.meta(), *lines]),
        f"{test_codex_import.STEM}.jsonl",
    ),
    "gemini": (vars(chats) | vars(test_gemini_import), lambda lines: chats.lines(*lines), "stem.jsonl"),
    "copilot": (
        vars(test_copilot_import),
        lambda lines: b"".join([test_copilot_import.begun(), *lines]),
        "x/events.jsonl",
    ),
}
"""By agent: the names that its lines are made of, what stands around them, and the file."""


@each_of(lines_of(Path(__file__).with_name("exchanges.txt")))
def test_lines_become_exchanges(agent: str, case: str) -> None:
    lines, _, expected = case.rpartition(" => ")
    names, written, file = WRITTEN[agent]
    found = exchanges_of(agent, written(eval(f"[{lines}]", dict(names))), file, tokens=agent != "claude-code")
    assert (" ; ".join(found) or "nothing").replace("\n", "\\n") == expected
