"""Telling what a person wrote from what was pasted: fenced blocks, quoted dumps, stack traces, logs, diffs, tables.

Line by line and linear; of a long text only the head and the tail are looked at.
"""

import re
from bisect import bisect_right

import msgspec

from aggregates.event import Span

HEAD_CHARS = 24_576
TAIL_CHARS = 8_192

_FENCES = ("```", "~~~", '"""')
_LINE_OF_MACHINE = re.compile(
    r"""\s*(?:
      \d{4}[-/]\d\d[-/]\d\d[T\ ]\d\d:\d\d | \[\d\d[/:-]\d\d | \d\d:\d\d:\d\d\b | \(\d{4}-\d\d-\d\dT
    | ---\s(?:FAIL|PASS|SKIP|a/) | ===\s(?:RUN|NAME|PAUSE|CONT|Step) | (?:FAIL|PASS|ok|panic:)\s*(?:$|\t|\S+[./])
    | \+\+\+\s
    | @@\s | diff\s--git | index\s[0-9a-f]{7} | (?:new\sfile|deleted|modified):\s
    | goroutine\s\d | Traceback\s | File\s" | at\s[\w.$<>]+\s?\( | Caused\sby: | \w+\.go:\d+ | [\w./-]+:\d+:\d+:
    | [\w.]*(?:Error|Exception):\s | (?:error|warning|fatal|ERROR|WARN|INFO|DEBUG|FATAL)(?::|\[|\s\w+=|\s[A-Z][\w ]+=)
    | [\u2500-\u257f\u276f\u23fa\u23bf\u279c\u2502] | [$%#]\s[a-z]+\s | \|.*\|.*\| | [+-](?:\t|\s{4,}|[\w}{]+\s*[({=])
    | (?:[{}\[\]()];?,?)\s*$ | "[\w.-]+"\s*:\s | [\w.$\[\]]+\s*(?::?=|=>)\s\S.*[;,{(]?$ | </?\w+[^>]*>\s*$ | //\s | \#!/
    | (?:func|def|class|import|package|const|var|return|export|public|private)\s.*[({;:\w"]$ | (?:if|for|while)\s.*[{:]$
    | (?:create|delete)\smode\s\d | \d+\s[+-]\s | (?:drwx|-rw)
    )""",
    re.VERBOSE,
)

_JUDGED = ("rubric", "judge", "grade", "grading", "boolean", "_explicit", "_bounded", "_requested")
_TO_THE_JUDGE = re.compile(
    r"""
    [^.!?\n]{0,200}?\b(?:the\srubric|judges?|grad(?:e|er|ing)|booleans?|goal_explicit|scope_bounded|references_concrete
      |context_sufficient|verification_requested|root_cause_oriented|plan_first)\b[^.!?\n]{0,300}[.!?]?
    """,
    re.VERBOSE | re.IGNORECASE,
)
_ORDERS = re.compile(
    r"\b(?:ignore|mark|set|give|treat|rate|grade|score|award|count|are|is)\b"
    r".*\b(?:true|earned|passed|full|perfect|highest|maximum|100|a\+)|\bignore\b.*\brubric",
    re.IGNORECASE | re.DOTALL,
)


class PromptText(msgspec.Struct, frozen=True):
    """The part of a text that was looked at, and its own lines without what was pasted."""

    text: str
    """Head and tail of the original."""
    own: str
    starts: tuple[tuple[int, int], ...]
    """(offset in `own`, offset in the original) of each own line, ascending."""
    pasted_chars: int
    """Characters of the original in pasted lines; the part that was not looked at counts."""
    fenced: bool

    def span(self, start: int, end: int) -> Span:
        """The span in the original text of [start, end) of `own`; kept within the line that holds `start`."""
        line = max(bisect_right(self.starts, (start, 1 << 62)) - 1, 0)
        own_start, original = self.starts[line]
        line_end = self.own.find("\n", start)
        stop = end if line_end < 0 else min(end, line_end)
        return Span(original + start - own_start, original + max(stop, start) - own_start)


def split_pasted(text: str) -> PromptText:
    head, gap = text, 0
    if len(text) > HEAD_CHARS + TAIL_CHARS:
        gap = len(text) - HEAD_CHARS - TAIL_CHARS
        head = text[:HEAD_CHARS] + "\n" + text[-TAIL_CHARS:]
    own, starts, pasted = _own_lines(head, gap)
    return PromptText(head, _without_orders("\n".join(own)), tuple(starts), pasted + gap, bool(pasted))


def _without_orders(own: str) -> str:
    """The own lines with blanks for every sentence that tells the judge what to say of them: it has no say."""
    lowered = own.lower()
    if not any(word in lowered for word in _JUDGED):
        return own
    return _TO_THE_JUDGE.sub(lambda said: " " * len(said[0]) if _ORDERS.search(said[0]) else said[0], own)


def _own_lines(text: str, gap: int) -> tuple[list[str], list[tuple[int, int]], int]:
    own: list[str] = []
    starts: list[tuple[int, int]] = []
    fence = ""
    at = own_at = pasted = 0
    is_machine = _LINE_OF_MACHINE.match
    for line in text.split("\n"):
        stripped = line.lstrip()
        mark = stripped[:3]
        if fence:
            pasted += len(line)
            if mark == fence or (fence == '"""' and fence in line):
                fence = ""
        elif mark in _FENCES:
            pasted += len(line)
            fence = mark if stripped.count(mark) == 1 or mark == "~~~" else ""
        elif stripped and (mark == "\t\t\t" or is_machine(line)):
            pasted += len(line)
        else:
            starts.append((own_at, at if not gap or at <= HEAD_CHARS else at + gap - 1))
            own.append(line)
            own_at += len(line) + 1
        at += len(line) + 1
    return own, starts, pasted
