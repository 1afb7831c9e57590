"""Where Codex keeps its rollouts: `sessions/YYYY/MM/DD/rollout-<time>-<session>.jsonl` under its home."""

import errno
import os
from collections.abc import Callable, Iterator
from pathlib import Path

from svc.codex.exchanges import RolloutReader, Seen
from svc.codex.lines import decode_line
from svc.transcripts.exchange import Reader
from svc.transcripts.files import Format, by_beginning
from svc.transcripts.lines import lines_of

_PACKED = ".jsonl.zst"


def _is_transcript(file: Path) -> bool:
    return file.name.startswith("rollout-") and file.name.endswith((".jsonl", _PACKED))


def _order(file: Path) -> tuple[int, int]:
    """A parent before its forks: its file begins earlier."""
    return by_beginning(file, _lines(file), lambda raw: decode_line(raw).at_us)


def _lines(file: Path) -> Iterator[bytes]:
    if file.name.endswith(_PACKED):
        raise OSError(errno.EINVAL, "packed: unpack it with `zstd -d`")
    yield from lines_of(file)


def _readers() -> Callable[[Path, str], Reader]:
    seen = Seen()
    return lambda file, name: RolloutReader(name, file.stem, seen)


def _folder() -> str:
    home = os.environ.get("CODEX_HOME") or "~/.codex"
    return f"{home}/sessions"


CODEX = Format("codex", _folder, _is_transcript, _order, _lines, _readers)
