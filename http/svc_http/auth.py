"""Who is calling: a developer by key, an internal caller by secret, or that caller on a developer's behalf.

Keys, memberships and their ends are looked up on every request; nothing is remembered between requests.
"""

import hmac
import re
from hashlib import sha256
from uuid import UUID

from werkzeug.datastructures import Headers

from aggregates.event import Scope
from aggregates.people.directory import KeyRefusal, Principal, authenticate, principal
from svc_http.errors import bad_request, forbidden, unauthorized
from svc_http.ports import Service

KEY_PATTERN = re.compile(r"(svc|gck)_[A-Za-z0-9_-]{43}")
_BEARER = "bearer "
_MISSING = "a key is needed: send Authorization: Bearer KEY, or X-API-Key: KEY"
_TWO = "two different credentials were sent; send one"
_WHY_NOT = {
    KeyRefusal.UNKNOWN: "unknown key; check that it was copied whole, or ask for a new one",
    KeyRefusal.VOID: "this key was revoked or has expired; ask for a new one",
    KeyRefusal.NOT_A_MEMBER: "the developer of this key is no longer a member of the organization",
}


def caller_of_intake(service: Service, headers: Headers) -> Principal:
    """The developer whose key was sent. Raises `HttpError` 401."""
    return _developer(service, _only(_keys(headers)))


def caller_of_api(service: Service, headers: Headers) -> Principal:
    """The developer whose key was sent, or whom an internal caller named. Raises `HttpError` 401 or 403."""
    if not _is_internal(service, headers):
        return _developer(service, _only(_keys(headers)))
    scope = _delegated(headers)
    if scope is None:
        raise forbidden("a service principal has no data of its own; name a developer by X-Org-Id and X-Developer-Id")
    found = principal(service.directory, scope)
    if found is None:
        raise unauthorized("the developer of X-Developer-Id is no current member of the organization of X-Org-Id")
    return found


def administrator(service: Service, headers: Headers) -> None:
    """Lets an internal caller pass who speaks for nobody else. Raises `HttpError` 401 or 403."""
    if not _is_internal(service, headers):
        _developer(service, _only(_keys(headers)))
        raise forbidden("administration takes the internal secret in X-Internal-Secret, not a developer's key")
    if _delegated(headers) is not None:
        raise forbidden("administration is not done on a developer's behalf; leave the delegation headers out")


def _keys(headers: Headers) -> set[str]:
    """The different keys that were sent, whichever header they came in."""
    bearers = headers.getlist("Authorization")
    return {_bearer(value) for value in bearers} | {value.strip() for value in headers.getlist("X-API-Key")}


def _bearer(value: str) -> str:
    if value[: len(_BEARER)].lower() != _BEARER:
        raise unauthorized("the Authorization header must read: Bearer KEY")
    return value[len(_BEARER) :].strip()


def _only(keys: set[str]) -> str:
    if len(keys) > 1:
        raise unauthorized(_TWO)
    if not keys:
        raise unauthorized(_MISSING)
    return keys.pop()


def _developer(service: Service, key: str) -> Principal:
    if KEY_PATTERN.fullmatch(key) is None:
        raise unauthorized("this is not a key of this service; keys are svc_ or gck_ and 43 characters")
    found = authenticate(service.directory, sha256(key.encode()).hexdigest(), service.now_us())
    if isinstance(found, KeyRefusal):
        raise unauthorized(_WHY_NOT[found])
    return found


def _is_internal(service: Service, headers: Headers) -> bool:
    """Whether the internal secret was sent; a wrong one, or one beside a key, raises 401."""
    secrets = headers.getlist("X-Internal-Secret")
    if not secrets:
        return False
    if len(set(secrets)) > 1 or _keys(headers):
        raise unauthorized(_TWO)
    expected = service.settings.internal_secret
    if not expected or not hmac.compare_digest(secrets[0].encode(), expected.encode()):
        raise unauthorized("wrong internal secret")
    return True


def _delegated(headers: Headers) -> Scope | None:
    """The developer an internal caller speaks for; None where it speaks for itself."""
    organization, developer = _one(headers, "X-Org-Id"), _one(headers, "X-Developer-Id")
    if organization is None and developer is None:
        return None
    if organization is None or developer is None:
        raise bad_request("X-Org-Id and X-Developer-Id go together; send both or neither")
    try:
        return Scope(UUID(organization), UUID(developer))
    except ValueError as error:
        raise bad_request("X-Org-Id and X-Developer-Id must be UUIDs") from error


def _one(headers: Headers, name: str) -> str | None:
    """The value of a header; two different ones would be for two programs to read differently: `HttpError` 400."""
    sent = set(headers.getlist(name))
    if len(sent) > 1:
        raise bad_request(f"{name} was sent with two different values; send one")
    return sent.pop() if sent else None
