"""How agents decorate the ids of models, and how the decoration comes off again.

A small fixed list, tried in this order after the id as it is, each on what the one before it left. Nothing is guessed:
every form below is written by somebody, and names the same model at the same list price.

| written | means | left |
|---|---|---|
| `GPT-5` | ids are not case-sensitive | `gpt-5` |
| `claude-opus-4-6[1m]` | Claude Code: with the long context window | `claude-opus-4-6` |
| `models/gemini-2.5-pro`, `publishers/google/models/…`, `arn:aws:bedrock:…/…` | a resource's path | its last part |
| `us.anthropic.claude-sonnet-4-5-20250929-v1:0` | Bedrock: the version of its own packaging | without `-v1:0` |
| `claude-sonnet-4-5-20250929`, `…@20250929`, `gpt-5-2025-08-07`, `…-latest` | a dated copy, or the newest | without |

A catalog that lists the decorated id itself, as it does where a dated copy has a price of its own, is asked first.
"""

import re
from collections.abc import Iterator

_WINDOW = re.compile(r"\[1m\]$")
_PATH = re.compile(r"^(?:models|publishers|projects|arn:aws[^/]*)/(?:.*/)?")
_BEDROCK_ID = re.compile(r"^(?:[a-z-]{2,8}\.)?[a-z]+\.[a-z]")
_BEDROCK_VERSION = re.compile(r"(?:-v\d{1,2})?(?::\d{1,2})?$")
_DATED = re.compile(r"[-@](?:20\d{6}|20\d{2}-\d{2}-\d{2}|latest|default)$")


def spellings(model: str) -> Iterator[str]:
    """The ids to look for, the one reported first; repeats are possible."""
    yield model
    text = _WINDOW.sub("", model.strip().lower())
    yield text
    text = _PATH.sub("", text)
    yield text
    if _BEDROCK_ID.match(text):
        text = _BEDROCK_VERSION.sub("", text)
        yield text
    yield _DATED.sub("", text)


def vendor_and_rest(model: str) -> tuple[str, str] | None:
    """`anthropic/claude-…` as the vendor that it names and the id there; None where it names none."""
    vendor, slash, rest = model.strip().lower().partition("/")
    return (vendor, rest) if slash and vendor and rest else None
