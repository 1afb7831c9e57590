"""The organization's own sign-in: one OpenID Connect provider, asked by the authorization code flow with PKCE.

Authlib checks what an id token claims and its joserfc the signature; both are imported when somebody first signs in.
"""

from base64 import b64encode
from collections.abc import Mapping
from importlib.util import find_spec
from typing import Any, TypeVar
from urllib.parse import quote_plus, urlencode, urlsplit

import msgspec
import structlog
import trio

from aggregates.event import Unavailable
from aggregates.people.entry import Account, NotProven
from svc.outward import Answer, asked
from svc.process import KIB_BYTES
from svc.settings import Settings, SettingsError, is_safe, secret_in

PROVIDER_SECONDS = 10.0  # how long one answer may take, of three while somebody waits for a page
PROVIDER_ANSWER_BYTES_MAX = 256 * KIB_BYTES  # a description takes some 5 KiB, ten keys 20, a token with many groups 50
PROVIDER_CALLS_MAX = 4  # at a time: whoever sends made-up codes holds up no thread but these
PROVIDER_KNOWN_SECONDS = 3_600.0  # how long its description and keys are believed to be as they were
PROVIDER_KEYS_SECONDS_MIN = 60.0  # A token of an unknown key has them asked for again, at most so often
PROVIDER_LEEWAY_SECONDS = 60  # by so much the clocks may differ

SCOPE = "openid email"
ALGORITHMS = ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA", "Ed25519"]
"""Signatures by a key that only the provider has: never by the client's secret, and never none."""
log = structlog.get_logger()
T = TypeVar("T")


class Discovered(msgspec.Struct, frozen=True):
    issuer: str
    authorization_endpoint: str
    token_endpoint: str
    jwks_uri: str
    token_endpoint_auth_methods_supported: tuple[str, ...] = ("client_secret_basic",)


class _Keys(msgspec.Struct, frozen=True):
    keys: list[dict[str, Any]]


class _Tokens(msgspec.Struct, frozen=True):
    id_token: str


def provider_of(settings: Settings) -> "OidcProvider | None":
    """The one that the settings name. Raises `SettingsError`."""
    issuer, client_id, file = settings.oidc_issuer, settings.oidc_client_id, settings.oidc_client_secret_file
    if issuer is None or client_id is None:
        return None
    if find_spec("authlib") is None or find_spec("joserfc") is None:
        why = "oidc_issuer is set, but its library is missing: pip install 'coding-agent-mirror[oidc]', or leave it out"
        raise SettingsError(why)
    secret = None if file is None else secret_in(file, "oidc_client_secret_file")
    return OidcProvider(issuer, client_id, secret, settings.oidc_name or urlsplit(issuer).hostname or issuer)


class OidcProvider:
    """`secret`: None for a client that has none, and proves by PKCE alone that it is the one that asked."""

    def __init__(self, issuer: str, client_id: str, secret: str | None, name: str) -> None:
        self.name = name
        self._issuer = issuer
        self._client_id = client_id
        self._secret = secret
        self._turns = trio.CapacityLimiter(PROVIDER_CALLS_MAX)
        self._known: tuple[float, Discovered] | None = None
        self._keys: tuple[float, _Keys] | None = None

    async def address(self, redirect_uri: str, state: str, nonce: str, verifier: str) -> str:
        """Where a browser goes to sign in. Raises `Unavailable`."""
        from authlib.oauth2.rfc7636 import create_s256_code_challenge

        discovered = await self._discovered()
        challenge = {"code_challenge": create_s256_code_challenge(verifier), "code_challenge_method": "S256"}
        query = {"response_type": "code", "client_id": self._client_id, "redirect_uri": redirect_uri, "scope": SCOPE}
        query |= {"state": state, "nonce": nonce, **challenge}
        joint = "&" if urlsplit(discovered.authorization_endpoint).query else "?"
        return f"{discovered.authorization_endpoint}{joint}{urlencode(query)}"

    async def account(self, redirect_uri: str, code: str, nonce: str, verifier: str) -> Account:
        """Whose code it is. Raises `NotProven` or `Unavailable`."""
        discovered = await self._discovered()
        form = {"grant_type": "authorization_code", "code": code, "redirect_uri": redirect_uri}
        form["code_verifier"] = verifier
        headers = {"Content-Type": "application/x-www-form-urlencoded", "Accept": "application/json"}
        if self._secret is not None and "client_secret_basic" in discovered.token_endpoint_auth_methods_supported:
            pair = f"{quote_plus(self._client_id)}:{quote_plus(self._secret)}"
            headers["Authorization"] = f"Basic {b64encode(pair.encode()).decode()}"
        else:
            form["client_id"] = self._client_id
            form |= {} if self._secret is None else {"client_secret": self._secret}
        answer = await self._asked("POST", discovered.token_endpoint, headers, urlencode(form).encode())
        if answer.status in (400, 401):
            log.warning("the sign-in provider refused a code", status=answer.status)
            raise NotProven(f"{self.name} did not take the code: it was used, or has expired; sign in again")
        return await self._proven(self._decoded(answer, _Tokens).id_token, nonce)

    async def _proven(self, id_token: str, nonce: str) -> Account:
        from authlib.oidc.core import CodeIDToken
        from joserfc.errors import JoseError

        try:
            token = await self._verified(id_token)
            wanted = {"iss": self._issuer, "aud": self._client_id}
            options = {claim: {"essential": True, "value": value} for claim, value in wanted.items()}
            claims = CodeIDToken(token.claims, token.header, options, {"nonce": nonce, "client_id": self._client_id})
            claims.validate(leeway=PROVIDER_LEEWAY_SECONDS)
        except (JoseError, ValueError) as error:
            reason = f"{type(error).__name__} {getattr(error, 'claim', '')}".strip()
            log.warning("an id token proves nobody", reason=reason)
            raise NotProven(f"what {self.name} says of you cannot be believed ({reason}); sign in again") from error
        subject, email = claims["sub"], claims.get("email")
        if not isinstance(subject, str) or not subject:
            raise NotProven(f"{self.name} does not say which account is yours")
        verified = claims.get("email_verified") is True and isinstance(email, str)
        return Account(issuer=self._issuer, subject=subject, email=email if verified else None)

    async def _verified(self, id_token: str) -> Any:
        """By the keys that we know, then by those that the provider has now. Raises `JoseError`, `ValueError`."""
        from joserfc import jwt
        from joserfc.errors import BadSignatureError, InvalidKeyIdError
        from joserfc.jwk import KeySet

        try:
            keys = KeySet.import_key_set({"keys": await self._jwks(PROVIDER_KNOWN_SECONDS)})
            return jwt.decode(id_token, keys, algorithms=ALGORITHMS)
        except (InvalidKeyIdError, BadSignatureError):
            keys = KeySet.import_key_set({"keys": await self._jwks(PROVIDER_KEYS_SECONDS_MIN)})
            return jwt.decode(id_token, keys, algorithms=ALGORITHMS)

    async def _discovered(self) -> Discovered:
        if self._known is not None and trio.current_time() < self._known[0] + PROVIDER_KNOWN_SECONDS:
            return self._known[1]
        url = f"{self._issuer.rstrip('/')}/.well-known/openid-configuration"
        found = self._decoded(await self._asked("GET", url, {}), Discovered)
        named = (found.authorization_endpoint, found.token_endpoint, found.jwks_uri)
        if found.issuer != self._issuer or not all(map(is_safe, named)):
            log.error("the sign-in provider's description does not fit the setting", issuer=found.issuer[:200])
            raise Unavailable(f"{self.name} describes itself as another issuer than the setting oidc_issuer")
        self._known = trio.current_time(), found
        return found

    async def _jwks(self, seconds: float) -> list[Any]:
        """The provider's keys, asked for again where they are older than that."""
        if self._keys is None or trio.current_time() >= self._keys[0] + seconds:
            url = (await self._discovered()).jwks_uri
            self._keys = trio.current_time(), self._decoded(await self._asked("GET", url, {}), _Keys)
        return self._keys[1].keys

    async def _asked(self, method: str, url: str, headers: Mapping[str, str], content: bytes | None = None) -> Answer:
        try:
            async with self._turns:
                bounds = PROVIDER_SECONDS, PROVIDER_ANSWER_BYTES_MAX
                return await asked(method, url, *bounds, headers=headers, content=content)
        except OSError as error:
            raise self._silent(str(error)) from error

    def _decoded(self, answer: Answer, kind: type[T]) -> T:
        if answer.status != 200:
            raise self._silent(f"it answered {answer.status}")
        try:
            return msgspec.json.decode(answer.content, type=kind)
        except msgspec.DecodeError as error:
            raise self._silent("its answer is not what OpenID Connect says") from error

    def _silent(self, why: str) -> Unavailable:
        log.error("the sign-in provider gave no answer that can be used", reason=why)
        return Unavailable(f"{self.name} cannot be asked at present: {why}; try again soon, or sign in with a key")
