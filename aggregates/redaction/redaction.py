"""Secrets are taken out of every text before it is stored: keys, tokens, passwords, e-mail addresses.

Each kind of secret has a few letters that must occur (`ghp_`, `://`, `@`); only where they stand is anything matched,
over a bounded or consumed length. So the time is linear in the text, whatever it holds.

Rather one harmless string too many than one secret too few, except where code would become unreadable:
names, calls, look-ups, types, hashes, ids and encoded images stay.
"""

from bisect import bisect_right
from collections import Counter
from collections.abc import Sequence
from itertools import accumulate
from typing import NamedTuple

from aggregates.redaction.assigned_secrets import assigned_secrets
from aggregates.redaction.secret_forms import (
    Finding,
    authorizations,
    email_addresses,
    private_keys,
    tokens,
    url_passwords,
)

_PASSES_MAX = 4
"""Taking one secret out can lay bare its neighbour, which now stands at a boundary; rarely a third one."""

_APART = "\n\x03\n"
"""Between two texts that are looked through together: no secret reaches across it, and none begins in its middle."""


class Redacted(NamedTuple):
    """A text with `[REDACTED:kind]` for each secret, and how many of each kind there were."""

    text: str
    counts: dict[str, int]


def redact(text: str) -> Redacted:
    """Takes secrets out of a text. Redacting the result again changes nothing and counts nothing."""
    counts: Counter[str] = Counter()
    for _ in range(_PASSES_MAX):
        findings = find_secrets(text)
        if not findings:
            break
        text = _without(text, findings)
        counts.update(finding.kind for finding in findings)
    return Redacted(text, dict(sorted(counts.items())))


def redact_among(texts: Sequence[str]) -> dict[int, Redacted]:
    """Those of many texts that hold secrets, by their place; looked through together, in a fraction of the time."""
    starts = list(accumulate((len(each) + len(_APART) for each in texts), initial=0))
    found: dict[int, Redacted] = {}
    for finding in find_secrets(_APART.join(texts)):
        first = bisect_right(starts, finding.start) - 1
        for index in range(first, min(bisect_right(starts, finding.end - 1), len(texts))):
            redacted = redact(texts[index])
            if redacted.counts:
                found[index] = redacted
    return found


def find_secrets(text: str) -> list[Finding]:
    """All secrets in the order of the text; of two that overlap, the one of the more specific kind."""
    # U+0130 is the one character whose lower case is longer: it would shift every place after it.
    lowered = text.replace("\u0130", "i").lower()
    candidates = [
        *private_keys(text),
        *tokens(text),
        *authorizations(text, lowered),
        *url_passwords(text),
        *assigned_secrets(text, lowered),
        *email_addresses(text),
    ]
    return _apart(candidates)


def _apart(candidates: list[Finding]) -> list[Finding]:
    """Findings that do not overlap, in order of the text. Earlier candidates are of more specific kinds."""
    kept: list[tuple[int, Finding]] = []
    for rank, finding in sorted(enumerate(candidates), key=lambda item: (item[1].start, item[0])):
        while kept and finding.start < kept[-1][1].end and rank < kept[-1][0]:
            kept.pop()
        if not kept or finding.start >= kept[-1][1].end:
            kept.append((rank, finding))
    return [finding for _, finding in kept]


def _without(text: str, findings: list[Finding]) -> str:
    parts: list[str] = []
    done = 0
    for start, end, kind in findings:
        parts += (text[done:start], f"[REDACTED:{kind}]")
        done = end
    return "".join((*parts, text[done:]))
