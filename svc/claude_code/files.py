"""Where Claude Code keeps its transcripts: one file a session, sub-agents' beside it."""

import os
from collections.abc import Callable
from pathlib import Path

from svc.claude_code.exchanges import Seen, TranscriptReader
from svc.claude_code.lines import decode_line
from svc.transcripts.exchange import Reader
from svc.transcripts.files import Format, by_beginning
from svc.transcripts.lines import lines_of


def _is_transcript(file: Path) -> bool:
    return file.suffix == ".jsonl"


def _order(file: Path) -> tuple[bool, int, int]:
    """Sub-agents' files last, so that the prompts which spawned them are known; an original before its forks."""
    of_sub_agent = file.name.startswith("agent-") or "subagents" in file.parts
    return of_sub_agent, *by_beginning(file, lines_of(file), lambda raw: decode_line(raw).at_us)


def _readers() -> Callable[[Path, str], Reader]:
    seen = Seen()
    return lambda file, name: TranscriptReader(name, file.stem, seen)


def _folder() -> str:
    return str(Path(os.environ.get("CLAUDE_CONFIG_DIR") or "~/.claude") / "projects")


CLAUDE_CODE = Format("claude-code", _folder, _is_transcript, _order, lines_of, _readers)
