"""What a sub-session came to for each file and each model, added up over its turns."""

from collections.abc import Iterable

import msgspec

from aggregates.turn import FileWork, ModelUsage, Turn
from aggregates.words import Span
from aggregates.work import UNKNOWN_MODEL


class FileTotals(msgspec.Struct):
    """What happened to one file."""

    digest: int
    position: int
    """The position of the fact whose words hold the path, as the first turn says."""
    path: Span
    edits: int = 0
    """0: only looked at."""
    lines_added: int = 0
    lines_removed: int = 0
    edits_without_lines: int = 0
    """Edits in turns that reported no changed line of this file at all."""
    seen_us: int = 0
    """The last moment of the turns that touched it: no call on it came later."""

    def add(self, turn: Turn, work: FileWork) -> None:
        """One more turn touched it."""
        self.edits += work.edits
        self.lines_added += work.lines_added
        self.lines_removed += work.lines_removed
        if not work.lines_added + work.lines_removed:
            self.edits_without_lines += work.edits
        self.seen_us = max(self.seen_us, turn.last_activity_us)


class ModelTotals(msgspec.Struct, array_like=True):
    """What was asked of one model."""

    model: str | None
    """None where nobody said which model, or whether any, was asked."""
    requests: int = 0
    tokens: int = 0
    reported: bool = True
    """Whether each turn that asked it reported its tokens."""
    cost_usd_nano: int = 0
    unpriced_requests: int = 0
    lower_bound_requests: int = 0

    def add(self, usage: ModelUsage) -> None:
        """One more turn asked it."""
        tokens = usage.input_tokens + usage.output_tokens + usage.cache_read_tokens + usage.cache_write_tokens
        self.requests += usage.requests
        self.tokens += tokens
        self.reported &= tokens > 0  # no request goes without a token: where none is counted, none was reported
        self.cost_usd_nano += usage.cost_usd_nano
        self.unpriced_requests += usage.unpriced_requests
        self.lower_bound_requests += usage.lower_bound_requests


def file_totals(turns: Iterable[Turn]) -> list[FileTotals]:
    """Of every file that was looked at or changed, in the order of their digests; turns come in time order."""
    files: dict[int, FileTotals] = {}
    for turn in turns:
        for work in turn.work.files:
            file = files.get(work.digest)
            if file is None:
                file = files[work.digest] = FileTotals(work.digest, work.position, work.path)
            file.add(turn, work)
    return [files[digest] for digest in sorted(files)]


def model_totals(turns: Iterable[Turn]) -> list[ModelTotals]:
    """Of every model that was asked; without any known request, of none by name."""
    models: dict[str | None, ModelTotals] = {}
    for turn in turns:
        for usage in turn.work.usage:
            model = None if usage.model == UNKNOWN_MODEL else usage.model
            models.setdefault(model, ModelTotals(model)).add(usage)
    return list(models.values()) or [ModelTotals(None, reported=False)]
