"""Ids and names: every stream is found by a deterministic id, so the store itself refuses a second claim.

At the end: characters that steer whoever shows a name or a text, a terminal or a page, instead of being seen.
"""

import re
from functools import lru_cache
from uuid import UUID, uuid5

KEY_START_CHARACTERS = 12  # by so much of a key it is known to people and in logs; the key itself is kept nowhere
_NAMESPACE = UUID("5f0c1b1e-6f2b-5c53-9a3a-0d2a5f4f7c11")


def stream_id(kind: str, *parts: object) -> UUID:
    return uuid5(_NAMESPACE, "\x1f".join((kind, *map(str, parts))))


@lru_cache(maxsize=1_024)
def session_stream(agent_session_id: str) -> UUID:
    """Agent session ids are globally unique: one stream holds the claim of one scope."""
    return stream_id("session", agent_session_id)


def prompt_stream(developer_id: UUID, client_event_id: UUID) -> UUID:
    return stream_id("prompt", developer_id, client_event_id)


def operation_stream(developer_id: UUID, response_operation_id: str) -> UUID:
    return stream_id("operation", developer_id, response_operation_id)


def batch_stream(developer_id: UUID, agent_session_id: str, records_digest: str) -> UUID:
    """An exact retry of a telemetry batch finds its stream taken."""
    return stream_id("batch", developer_id, agent_session_id, records_digest)


def overrides_stream(developer_id: UUID) -> UUID:
    return stream_id("corrections", developer_id)


@lru_cache(maxsize=1_024)
def attempt_stream(developer_id: UUID, agent_session_id: str) -> UUID:
    return stream_id("attempt", developer_id, agent_session_id)


@lru_cache(maxsize=1_024)
def credential_stream(key_digest: str) -> UUID:
    """A key is looked up by its digest only."""
    return stream_id("credential", key_digest)


def link_stream(link_digest: str) -> UUID:
    return stream_id("link", link_digest)


@lru_cache(maxsize=1_024)
def sign_in_stream(cookie_digest: str) -> UUID:
    return stream_id("sign-in", cookie_digest)


def claim_stream(access_id: UUID, only_in: UUID | None) -> UUID:
    """That a sign-in, key or account is its developer's own is said once for good, and once in each browser."""
    return stream_id("claim", access_id, only_in)


def identity_stream(issuer: str, subject: str) -> UUID:
    """An account of a sign-in provider stands for one developer at a time."""
    return stream_id("identity", issuer, subject)


@lru_cache(maxsize=1_024)
def membership_stream(organization_id: UUID, developer_id: UUID) -> UUID:
    return stream_id("membership", organization_id, developer_id)


def membership_id(stream: UUID, started_at_us: int) -> UUID:
    """Of whoever joins again; the first membership has the id of its stream."""
    return stream_id("membership again", stream, started_at_us)


def answer_stream(developer_id: UUID, kind: str, model: str, prompt_version: int, input_digest: bytes) -> UUID:
    """The same question to the same model is answered once."""
    return stream_id("answer", developer_id, kind, model, prompt_version, input_digest.hex())


def clock_stream(due_us: int) -> UUID:
    return stream_id("clock", due_us)


CATALOG_STREAM = stream_id("catalog")
"""The one stream of published catalogs; the version of an event in it is the catalog's revision."""
REPRICING_STREAM = stream_id("repricing")
"""The one stream of orders to reprice, beside the catalog's, so that revisions have no gaps."""


def forget_stream(developer_id: UUID) -> UUID:
    return stream_id("forget", developer_id)


def forget_request_stream(developer_id: UUID) -> UUID:
    return stream_id("forget request", developer_id)


def retained_stream(organization_id: UUID, developer_id: UUID, first: int) -> UUID:
    return stream_id("standing", organization_id, developer_id, first)


def retention_stream(organization_id: UUID, kind: str) -> UUID:
    return stream_id("retention", organization_id, kind)


def turn_id_from_host(agent_session_id: str, host_prompt_id: str) -> UUID:
    """A turn that the agent itself named keeps that name, whichever capture arrives first."""
    return stream_id("turn", agent_session_id, host_prompt_id)


def turn_id_from_capture(capture_id: UUID) -> UUID:
    """A turn that only a capture names; the kind of capture is part of the capture's id."""
    return stream_id("turn-capture", capture_id)


def record_capture_id(agent_session_id: str, record_id: str) -> UUID:
    return stream_id("record", agent_session_id, record_id)


def flag_id(
    organization_id: UUID, developer_id: UUID, kind: str, agent_session_id: str | None, fired_by: object
) -> UUID:
    """An integrity flag of one developer, known by what made it fire: whoever finds that again finds the same flag."""
    return stream_id("flag", organization_id, developer_id, kind, agent_session_id, fired_by)


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
