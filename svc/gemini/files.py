"""Where the Gemini CLI keeps its sessions: `<project>/chats/` under its folder for what it does not need for ever.

Sub-agents' sessions lie in a folder there that is named like their parent's session.
"""

from collections.abc import Callable, Iterator
from pathlib import Path

from svc.gemini.exchanges import Seen, SessionReader
from svc.transcripts.exchange import Reader
from svc.transcripts.files import Format
from svc.transcripts.lines import document_of, lines_of

_CHATS = "chats"


def _is_transcript(file: Path) -> bool:
    return file.suffix in (".json", ".jsonl") and (file.parent.name == _CHATS or _is_nested(file))


def _is_nested(file: Path) -> bool:
    return file.parent.parent.name == _CHATS


def _order(file: Path) -> tuple[bool, str, bool]:
    """By the time in the name; where a document was carried on as lines, the lines, which hold all of it, first."""
    return _is_nested(file), file.stem, file.suffix == ".json"


def _lines(file: Path) -> Iterator[bytes]:
    return document_of(file) if file.suffix == ".json" else lines_of(file)


def _readers() -> Callable[[Path, str], Reader]:
    seen = Seen()

    def reader(file: Path, name: str) -> Reader:
        nested = _is_nested(file)
        return SessionReader(name, file.parent.name if nested else file.stem, seen, of_sub_agent=nested)

    return reader


GEMINI = Format("gemini", lambda: "~/.gemini/tmp", _is_transcript, _order, _lines, _readers)
