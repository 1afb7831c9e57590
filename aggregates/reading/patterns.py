"""The patterns of what people and agents say, from `patterns.toml`."""

import re
import tomllib
from pkgutil import get_data

_LISTED = tomllib.loads((get_data(__name__, "patterns.toml") or b"").decode())


def patterns(group: str) -> dict[str, re.Pattern[str]]:
    return {name: re.compile(_whole(pieces)) for name, pieces in _LISTED[group].items()}


def _whole(pieces: str | list[str]) -> str:
    """The pieces of a pattern, with the parts that several share."""
    whole = "".join(pieces)
    for name, part in _LISTED["parts"].items():
        whole = whole.replace(f"<{name}>", part)
    return whole
