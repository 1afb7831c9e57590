"""Ids and names: every stream is found by a deterministic id, so the store itself refuses a second claim.

At the end: characters that steer whoever shows a name or a text, a terminal or a page, instead of being seen.
"""

import re
from collections.abc import Callable
from functools import lru_cache, partial
from uuid import UUID, uuid5

KEY_START_CHARACTERS = 12  # by so much of a key it is known to people and in logs; the key itself is kept nowhere
_NAMESPACE = UUID("5f0c1b1e-6f2b-5c53-9a3a-0d2a5f4f7c11")


def stream_id(kind: str, *parts: object) -> UUID:
    return uuid5(_NAMESPACE, "\x1f".join((kind, *map(str, parts))))


def _remembered(kind: str) -> Callable[..., UUID]:
    """Of ids that nearly every request asks for."""
    return lru_cache(maxsize=1_024)(partial(stream_id, kind))


session_stream = _remembered("session")  # agent session id, unique among all: one stream holds the claim of one scope
prompt_stream = partial(stream_id, "prompt")  # developer, client event id
operation_stream = partial(stream_id, "operation")  # developer, response operation id
batch_stream = partial(stream_id, "batch")  # developer, agent session, digest of the records: a retry finds it taken
overrides_stream = partial(stream_id, "corrections")  # developer
attempt_stream = _remembered("attempt")  # developer, agent session id
credential_stream = _remembered("credential")  # digest of the key, by which alone it is looked up
link_stream = partial(stream_id, "link")  # digest of the link
sign_in_stream = _remembered("sign-in")  # digest of the cookie
claim_stream = partial(stream_id, "claim")  # what is claimed, and in which sign-in alone; None: for good
identity_stream = partial(stream_id, "identity")  # issuer, subject: they stand for one developer at a time
membership_stream = _remembered("membership")  # organization, developer
membership_id = partial(stream_id, "membership again")  # stream, time: the first membership has the id of its stream
clock_stream = partial(stream_id, "clock")  # when it is due
CATALOG_STREAM = stream_id("catalog")  # of published catalogs; the version of an event in it is the catalog's revision
REPRICING_STREAM = stream_id("repricing")  # of orders to reprice; beside the catalog's, so that revisions have no gaps
forget_stream = partial(stream_id, "forget")  # developer
forget_request_stream = partial(stream_id, "forget request")  # developer
retained_stream = partial(stream_id, "standing")  # organization, developer, first position
retention_stream = partial(stream_id, "retention")  # organization, kind of text
turn_id_from_host = _remembered("turn")  # agent session, host's prompt id: whichever capture arrives first
turn_id_from_capture = _remembered("turn-capture")  # capture, where nothing else names the turn
record_capture_id = partial(stream_id, "record")  # agent session, record id
flag_id = partial(stream_id, "flag")  # organization, developer, kind, agent session, what made it fire


def answer_stream(developer_id: UUID, kind: str, model: str, prompt_version: int, input_digest: bytes) -> UUID:
    """The same question to the same model is answered once."""
    return stream_id("answer", developer_id, kind, model, prompt_version, input_digest.hex())


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

    def escape(found: re.Match[str]) -> str:
        units = found[0].encode("utf-16-be", "surrogatepass")
        return "".join(f"\\u{units[at] << 8 | units[at + 1]:04x}" for at in range(0, len(units), 2))

    return _STEERING.sub(escape, json)
