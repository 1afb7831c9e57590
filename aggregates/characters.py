"""Characters that steer whoever shows a text, a terminal or a page, instead of being seen."""

import re

_STEERING = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f"  # control characters, without tab and line feed
    r"\u061c\u200e\u200f\u202a-\u202e\u2066-\u206f"  # the direction of writing
    r"\u00ad\u180e\u200b\u2060-\u2065\ufeff\ufff9-\ufffb"  # of no width, but for those that join letters and emoji
    r"\u2028\u2029\ud800-\udfff\U000e0000-\U000e007f]"  # other line ends, half characters, tags
)


def plain(text: str) -> str:
    """The text without characters that are not seen; lines and tabs stay."""
    return _STEERING.sub("", text)


def escaped(json: str) -> str:
    """JSON of the same value, in which such characters are escaped."""
    return _STEERING.sub(_escape, json)


def _escape(found: re.Match[str]) -> str:
    units = found[0].encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[at] << 8 | units[at + 1]:04x}" for at in range(0, len(units), 2))
