"""Secrets that are known by their own form, wherever they stand: tokens, private keys, headers, addresses."""

import re
from collections.abc import Iterator
from typing import NamedTuple

_LETTERS_AND_DIGITS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
_IN_BASE64 = _LETTERS_AND_DIGITS + "+_-"
"""After one of these a short form may be an accident in the middle of an encoded image."""


class Finding(NamedTuple):
    """A secret in a text: characters [start, end), and what kind it is."""

    start: int
    end: int
    kind: str


class _Token(NamedTuple):
    """A kind of token: how it begins, its form, the digits a real one has at least, what it cannot follow."""

    kind: str
    start: str
    form: re.Pattern[str]
    digits_min: int
    not_after: str


def _token(kind: str, start: str, rest: str, digits_min: int = 1, not_after: str = _LETTERS_AND_DIGITS) -> _Token:
    return _Token(kind, start, re.compile(re.escape(start) + rest, re.ASCII), digits_min, not_after)


_TOKENS = {
    "_": (
        _token("github-token", "gh", r"[pousr]_[A-Za-z0-9]{36,}"),
        _token("github-token", "github_pat_", r"\w{22,}"),
        _token("stripe-key", "sk_", r"(?:live|test)_[A-Za-z0-9]{16,}"),
        _token("stripe-key", "rk_", r"(?:live|test)_[A-Za-z0-9]{16,}"),
        _token("stripe-key", "whsec_", r"[A-Za-z0-9+/]{24,}"),
        _token("npm-token", "npm_", r"[A-Za-z0-9]{36,}"),
        _token("svc-key", "svc_", r"[\w-]{43}(?![\w-])"),
        _token("svc-key", "gck_", r"[\w-]{43}(?![\w-])"),
        _token("huggingface-token", "hf_", r"[A-Za-z0-9]{34,}"),
    ),
    "-": (
        _token("anthropic-key", "sk-ant-", r"[\w-]{20,}"),
        _token("openai-key", "sk-", r"(?!ant-)[\w-]{20,}", digits_min=3),
        _token("gitlab-token", "glpat-", r"[\w-]{20,}"),
        _token("slack-token", "xox", r"[abeoprs]-[A-Za-z0-9-]{10,}"),
        _token("pypi-token", "pypi-", r"[\w-]{50,}"),
    ),
    "IA": (
        _token("aws-key", "AKIA", r"[A-Z0-9]{16}(?![A-Za-z0-9+/])", 0, _IN_BASE64),
        _token("aws-key", "ASIA", r"[A-Z0-9]{16}(?![A-Za-z0-9+/])", 1, _IN_BASE64),
    ),
    "I": (_token("google-key", "AIza", r"[\w-]{35}(?![\w-])", 1, _IN_BASE64),),
    "J": (_token("jwt", "eyJ", r"[\w-]{8,4096}\.eyJ[\w-]{8,65536}\.[\w-]{10,}", 1, _LETTERS_AND_DIGITS + "_-"),),
    "G": (_token("sendgrid-key", "SG.", r"[\w-]{16,32}\.[\w-]{32,64}"),),
    "/T": (_token("slack-webhook", "hooks.slack.com/services/", r"T\w{6,}/B\w{6,}/\w{16,}"),),
}
"""Kinds of token under something short that all of them hold: where it is missing, none is looked for."""

_AWS_SECRET = re.compile(
    r"""["']?[\s:,;|/]{1,8}(?:[A-Za-z_ ]{1,40}["']?\s{0,4}[:=]\s{0,4})?["']?"""
    r"""([A-Za-z0-9/+]{40})(?![A-Za-z0-9/+=])"""
)
"""The secret that goes with an AWS key and follows it, in a table, a file or a line of its own."""


def tokens(text: str) -> Iterator[Finding]:
    for part, some in _TOKENS.items():
        if part in text:
            for token in some:
                yield from _tokens_of(token, text)


def _tokens_of(token: _Token, text: str) -> Iterator[Finding]:
    place = text.find(token.start)
    while place >= 0:
        end = place + len(token.start)
        free = place == 0 or text[place - 1] not in token.not_after
        if free and (found := token.form.match(text, place)):
            end = found.end()
            if _has_digits(found[0], token.digits_min):
                yield Finding(place, end, token.kind)
                if token.kind == "aws-key" and (secret := _AWS_SECRET.match(text, end)):
                    yield Finding(*secret.span(1), "aws-secret")
        place = text.find(token.start, end)


def _has_digits(token: str, wanted: int) -> bool:
    return sum(map(token.count, "0123456789")) >= wanted


_KEY_BEGINS = re.compile(r"-----BEGIN (?:[A-Z0-9]{1,20} ){0,3}PRIVATE KEY(?: BLOCK)?-----")
_KEY_ENDS = re.compile(r"-----END [A-Z0-9 ]{0,60}-----")
_KEY_BODY = re.compile(r"(?:[A-Za-z0-9+/=\s]|\\[nr])*")


def private_keys(text: str) -> Iterator[Finding]:
    """Private keys as PEM, from BEGIN to END, or as far as their body reaches where the end was cut off."""
    place = text.find("-----BEGIN ")
    while place >= 0:
        end = place + 1
        if begins := _KEY_BEGINS.match(text, place):
            body_ends = _KEY_BODY.match(text, begins.end())
            assert body_ends is not None
            end = (_KEY_ENDS.match(text, body_ends.end()) or body_ends).end()
            yield Finding(place, end, "private-key")
        place = text.find("-----BEGIN ", end)


_HEADER = re.compile(
    r"""authorization\\?["']?\s{0,4}[:=,]\s{0,4}\\?["'`]?(?:basic|token|apikey|digest)\s{1,4}([\w.~+/=-]{8,})""",
    re.ASCII,
)
_BEARER = re.compile(r"bearer[ \t]{1,4}([\w.~+/=-]{16,})", re.ASCII)


def authorizations(text: str, lowered: str) -> Iterator[Finding]:
    for word, form, digits_min in (("authorization", _HEADER, 0), ("bearer ", _BEARER, 1)):
        place = lowered.find(word)
        while place >= 0:
            end = place + len(word)
            if found := form.match(lowered, place):
                end = found.end()
                value = text[found.start(1) : end]
                if _has_digits(value, digits_min) and not value.isalpha():
                    yield Finding(*found.span(1), "authorization")
            place = lowered.find(word, end)


_USER_INFO = re.compile(r"""://[^\s/:@"'`<>\[\]?#]{0,128}:([^\s/"'`<>?#,;]{1,256})@""")
_PLACEHOLDERS = ("$", "{", "%", "[", "*")


def url_passwords(text: str) -> Iterator[Finding]:
    """The password in `scheme://user:password@host`, as in every kind of connection string."""
    place = text.find("://")
    while place >= 0:
        end = place + 3
        found = _USER_INFO.match(text, place)
        if found is not None and not found[1].startswith(_PLACEHOLDERS):
            end = found.end()
            yield Finding(*found.span(1), "url-password")
        place = text.find("://", end)


_LOCAL_CHARACTERS = _LETTERS_AND_DIGITS + "._%+-"
_LOCAL_CHARACTERS_MAX = 64
_DOMAIN = re.compile(r"[A-Za-z0-9.-]{4,253}")
_NO_MAIL = re.compile(r"v?\d+\.\d|[23]x\.|.*\.(?:png|jpe?g|gif|svg|webp|ico)$", re.IGNORECASE)
"""Package versions and images for fine screens: `left-pad@1.3.0-rc.next`, `logo@2x.png`."""


def email_addresses(text: str) -> Iterator[Finding]:
    """E-mail addresses of people; `git@host` names a service, `self.a@self.b` multiplies matrices."""
    place = text.find("@")
    while place >= 0:
        domain = _mail_domain(text, place + 1)
        local = _mail_local(text, place) if domain else ""
        if local and local != "git" and not local.startswith("self."):
            yield Finding(place - len(local), place + 1 + len(domain), "email")
        place = text.find("@", place + 1 + len(domain))


def _mail_local(text: str, place: int) -> str:
    """What stands before the @ at this place; nothing where it is too long to be a name."""
    window = text[max(0, place - _LOCAL_CHARACTERS_MAX - 1) : place]
    local = window[len(window.rstrip(_LOCAL_CHARACTERS)) :].lstrip(".%+-")
    return local if len(local) <= _LOCAL_CHARACTERS_MAX else ""


def _mail_domain(text: str, place: int) -> str:
    found = _DOMAIN.match(text, place)
    if found is None or _NO_MAIL.match(found[0]):
        return ""
    domain = found[0].rstrip(".-")
    labels = domain.split(".")
    if len(labels) < 2 or not all(labels) or not (labels[-1].isalpha() and 2 <= len(labels[-1]) <= 24):
        return ""
    return domain
