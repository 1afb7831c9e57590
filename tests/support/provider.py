"""A small OpenID Connect provider over a real socket, which checks PKCE, and can be made to lie."""

from base64 import b64decode, urlsafe_b64encode
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from hashlib import sha256
from html import escape
from secrets import token_urlsafe
from time import time
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import msgspec
from joserfc import jwt
from joserfc.jwk import RSAKey

from tests.support.listening import Handler, listening

CLIENT, SECRET = "svc-at-acme", "the-secret-of-the-client"


@cache
def key(kid: str) -> RSAKey:
    """Made once: it takes a tenth of a second."""
    return RSAKey.generate_key(2048, {"kid": kid})


class Provider:
    """`person`: who sits before the browser, as claims. The rest is what it does wrong."""

    def __init__(self, issuer: str) -> None:
        self.issuer = issuer
        self.person: dict[str, object] = {}
        self.lies: dict[str, object] = {}  # claims put over those of an honest id token
        self.signs_with = "first"
        self.publishes = "first"
        self.refuses = ""  # an error with which it sends a browser back
        self.broken = False
        self.waits = False  # whether a page asks first who is there
        self.asked: list[str] = []
        self._codes: dict[str, dict[str, str]] = {}

    def description(self) -> dict[str, str]:
        paths = ("authorization_endpoint", "token_endpoint", "jwks_uri")
        return {"issuer": self.issuer} | {each: f"{self.issuer}/{each}" for each in paths}

    def keys(self) -> dict[str, object]:
        return {"keys": [key(self.publishes).as_dict(private=False)]}

    def authorized(self, query: dict[str, str]) -> str:
        """Where the browser is sent back to."""
        assert (query["client_id"], query["response_type"]) == (CLIENT, "code")
        assert query["code_challenge_method"] == "S256"
        assert query["scope"].split() == ["openid", "email"]
        code = token_urlsafe()
        self._codes[code] = query
        told = {"error": self.refuses} if self.refuses else {"code": code}
        return f"{query['redirect_uri']}?{urlencode(told | {'state': query['state']})}"

    def tokens(self, form: dict[str, str], authorization: str) -> dict[str, object] | None:
        """None where the code, or whoever brings it, is not right. A code works once."""
        asked = self._codes.pop(form["code"], None)
        if asked is None or b64decode(authorization.removeprefix("Basic ")).decode() != f"{CLIENT}:{SECRET}":
            return None
        challenge = urlsafe_b64encode(sha256(form["code_verifier"].encode()).digest()).decode().rstrip("=")
        if (challenge, form["redirect_uri"]) != (asked["code_challenge"], asked["redirect_uri"]):
            return None
        now = int(time())
        honest = {"iss": self.issuer, "aud": CLIENT, "iat": now, "exp": now + 300, "nonce": asked["nonce"]}
        claims: dict[str, Any] = honest | self.person | self.lies
        token = jwt.encode({"alg": "RS256", "kid": self.publishes}, claims, key(self.signs_with))
        return {"access_token": token_urlsafe(), "token_type": "Bearer", "id_token": token}


class _Handler(Handler):
    protocol_version = "HTTP/1.0"
    provider: Provider

    def do_GET(self) -> None:
        parts = urlsplit(self.path)
        self.provider.asked.append(parts.path)
        query = {name: texts[-1] for name, texts in parse_qs(parts.query).items()}
        if self.provider.broken:
            self.tell(500, {})
        elif parts.path == "/authorization_endpoint" and self.provider.waits:
            link = f'<a href="{escape(self.provider.authorized(query))}">Yes, it is me</a>'
            self.answer(200, link.encode(), Content_Type="text/html")
        elif parts.path == "/authorization_endpoint":
            self.answer(302, Location=self.provider.authorized(query))
        else:
            known = {"/jwks_uri": self.provider.keys, "/.well-known/openid-configuration": self.provider.description}
            self.tell(200, known[parts.path]())

    def do_POST(self) -> None:
        self.provider.asked.append(self.path)
        form = {name: texts[-1] for name, texts in parse_qs(self.body().decode()).items()}
        found = self.provider.tokens(form, self.headers.get("Authorization", ""))
        self.tell(400 if found is None else 200, found or {"error": "invalid_grant"})

    def tell(self, status: int, value: object) -> None:
        self.answer(status, msgspec.json.encode(value), Content_Type="application/json")


@contextmanager
def provider() -> Iterator[Provider]:
    """One that answers until the end of the block."""
    made = Provider("")
    with listening(type("Telling", (_Handler,), {"provider": made})) as made.issuer:
        yield made
