"""Secrets that are known by the name they are given: `password = …`, `"api_key": "…"`, `--token …`.

Passwords are words that people choose, so almost any quoted value is one; keys and tokens are made by machines, so
they are long and hold digits.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

from aggregates.redaction.secret_forms import Finding


class _Name(NamedTuple):
    """A word that promises a secret, and what has to stand before it."""

    word: str
    kind: str = "password"
    chosen: bool = True
    """Whether people choose what it names, as they do passwords; keys and tokens are made."""
    spaces: bool = False
    before: re.Pattern[str] | None = None


_KEY_OF = re.compile(r"(?:api|access|account|private|signing|encryption|auth|shared|master|license)[_ -]?$")
_NAMES = {
    "pass": (
        _Name("password"),
        _Name("passwd"),
        _Name("passphrase", spaces=True),
        _Name("_pass"),
        _Name("passwort"),
        _Name("passe", spaces=True, before=re.compile(r"mot[_ ]?de[_ ]?$")),
    ),
    "pwd": (_Name("pwd"),),
    "secret": (_Name("secret", "secret", chosen=False),),
    "token": (_Name("token", "secret", chosen=False),),
    "key": (_Name("key", "secret", chosen=False, before=_KEY_OF),),
    "kennwort": (_Name("kennwort"),),
    "contrase": (_Name("contrasena"), _Name("contraseña")),
    "senha": (_Name("senha"),),
    "wachtwoord": (_Name("wachtwoord"),),
    "ł": (_Name("hasło"),),
    "ş": (_Name("şifre"),),
    "п": (_Name("пароль"),),
    "호": (_Name("비밀번호"), _Name("암호")),
    "ワ": (_Name("パスワード"),),
    "密": (_Name("密码"), _Name("密碼")),
}
"""Names under something short that all of them hold: where it is missing, none has to be looked for."""

_ASSIGNMENT = re.compile(
    r"""
    (?:[_-]?(?:access[_-]?key|key|base|value|\d{1,2})){0,2}   # secret_access_key, SECRET_KEY_BASE, PASSWORD_2
    (?:\\?["'`]\]?)?                                          # the end of a quoted name, of a subscript
    (?:
        [ \t]{0,8}
        (?: :[ \t]{0,4}[A-Za-z_&*][\w.|<>? \[\]]{0,40}?=(?!=)   # password: str =
          | := | => | =(?![=>~]) | :(?!:) | ：                # = in most languages, : in YAML and JSON
        )
      | [ \t]{1,4}(?:is|ist|est|es|è)(?=[ \t])                # my password is …
      | [ \t]?(?:는|은|이|가|は|是)                            # 비밀번호는 …
      | [ \t]{1,4}(?=')                                       # SQL: PASSWORD '…'
    )
    """,
    re.VERBOSE,
)
_ARGUMENT = re.compile(r"[ \t]{1,4}(?=[\w\"'])")
_CALL = re.compile(r"\(\s{0,4}(?=[\"'])")
_SETTER = re.compile(r"(?:set_?|with_?|\.)$")
_QUOTED = re.compile(r"""\s{0,20}[A-Za-z@$]{0,2}?\\?(?:"([^"\n]+)|'([^'\n]+)|`([^`\n]+))""")
_BARE = re.compile(r"""[ \t]{0,8}([^\s"'`,;&()\[\]{}<>|]{1,128})""")
_BARE_REST = re.compile(r"""[^\s"'`,;&()\[\]{}<>|]*""")


def assigned_secrets(text: str, lowered: str) -> Iterator[Finding]:
    """Values that are given to a name of a secret. `lowered`: the text in lower case, as long as the text."""
    for part, names in _NAMES.items():
        if part in lowered:
            for name in names:
                yield from _secrets_of(name, text, lowered)


def _secrets_of(name: _Name, text: str, lowered: str) -> Iterator[Finding]:
    place = lowered.find(name.word)
    while place >= 0:
        end = place + len(name.word)
        value = _value(name, text, lowered, place, end)
        if value is not None:
            yield Finding(*value, name.kind)
            end = value[1]
        place = lowered.find(name.word, end)


def _value(name: _Name, text: str, lowered: str, place: int, end: int) -> tuple[int, int] | None:
    """Where the secret lies that is given to the name at this place, if one is."""
    before = lowered[max(0, place - 12) : place]
    if name.before is not None and not name.before.search(before):
        return None
    given = _given(lowered, before, end)
    if given is None:
        return None
    quoted = _QUOTED.match(text, given)
    if quoted is not None:
        start, stop = quoted.span(quoted.lastindex or 0)
        value = text[start:stop].rstrip("\\")
        return (start, start + len(value)) if _is_quoted_secret(name, value) else None
    bare = _BARE.match(text, given)
    if bare is None or not _is_bare_secret(name, bare[1], text[bare.end() : bare.end() + 1]):
        return None
    rest = _BARE_REST.match(text, bare.end())
    return bare.start(1), bare.end() if rest is None else rest.end()


def _given(lowered: str, before: str, end: int) -> int | None:
    """Where the value begins, if the name is assigned to, is a command's option or a setter."""
    if assignment := _ASSIGNMENT.match(lowered, end):
        return assignment.end()
    if "--" in before and (argument := _ARGUMENT.match(lowered, end)):
        return argument.end()
    if _SETTER.search(before) and (call := _CALL.match(lowered, end)):
        return call.end()
    return None


_PLACEHOLDER = re.compile(
    r"""[$%<{\[*~/@]|\.{2}|\.?/|\#\{|x{3,}$|(?:your|my|some|example|change|dummy|fake|redacted|placeholder|sample)(?![a-z0-9])
    |your|process\.|os\.|env[.:]|vault:|arn:|[a-z]+://|file:""",
    re.IGNORECASE | re.VERBOSE,
)
_OPENING = ("(", "[", "{", "<")
_TEMPLATE = re.compile(r"\$\{|\{\{|%\(|%s|<[^>]*>|\$\(")
_NO_PASSWORDS = re.compile(
    r"(?:string|str|text|char|varchar|number|object|any|required|optional|hidden|visible|input|field|basic|bearer"
    r"|none|null|nil|true|false|empty|undefined|invalid|incorrect|missing|wrong|weak|strong|show|hide|new|old|reset"
    r"|current|confirm|forgot|change)$",
    re.IGNORECASE,
)
"""Types, states and labels that are given to passwords in code and in forms."""
_NAME_PARTS = re.compile(r"pass|pwd|secret|token|key|user|cred|conf|env|input|field|arg|value|hash|self|this|get")
_TYPE_OR_ALGORITHM = re.compile(
    r"(?:u?int|float|[iuf])\d+|utf-?\d|sha-?\d|md\d|base\d|aes|varchar|argon|bcrypt|oauth|string\d?$|http|v\d|rsa"
    r"|pbkdf|hs\d{3}|es\d{3}",
    re.IGNORECASE,
)
_IDENTIFIER = re.compile(r"[A-Za-z_$][\w$]*(?:(?:\.|->|::|\?\.)[A-Za-z_$][\w$]*)*;?$")
_WORDS = re.compile(r"[A-Za-z]+(?:[_.-][A-Za-z]+)+[_.-]?\d{0,4}$|[A-Za-z]+[_.-]?\d{0,2}$")
_ENVIRONMENT_NAME = re.compile(r"[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+$")


def _is_quoted_secret(name: _Name, value: str) -> bool:
    if _PLACEHOLDER.match(value) or _TEMPLATE.search(value):
        return False
    if not name.spaces and any(map(str.isspace, value)):
        return False
    return _is_chosen(value) if name.chosen else _is_made(value)


def _is_chosen(value: str) -> bool:
    """Whether a quoted value is a password rather than a label, a type or a message."""
    if len(value) < 4 or _NO_PASSWORDS.match(value):
        return False
    if not value.isalpha():
        named = _WORDS.match(value) and not _has_digit(value) and _NAME_PARTS.search(value.lower())
        return not named and not _ENVIRONMENT_NAME.match(value)
    return value.isascii() and not value.istitle() and not _NAME_PARTS.search(value.lower())


def _is_made(value: str) -> bool:
    if len(value) < 8 or not _has_digit(value) or not any(map(str.isalpha, value)):
        return False
    return not _WORDS.match(value) and not _ENVIRONMENT_NAME.match(value)


def _is_bare_secret(name: _Name, value: str, following: str) -> bool:
    """Without quotes only what no code looks like is a secret: letters and digits, no call, no name."""
    if following in _OPENING or _PLACEHOLDER.match(value) or _TEMPLATE.search(value):
        return False
    if not _has_digit(value) or not any(map(str.isalpha, value)):
        return False
    if not name.chosen:
        is_camel_name = _IDENTIFIER.match(value) is not None and sum(map(str.isdigit, value)) <= 2
        return len(value) >= 16 and _is_made(value) and not is_camel_name
    if len(value) < 6 or _TYPE_OR_ALGORITHM.match(value):
        return False
    is_name = _IDENTIFIER.match(value) is not None
    return not (is_name and (_NAME_PARTS.search(value.lower()) or re.search(r"\.|->|::", value)))


def _has_digit(value: str) -> bool:
    return any(map(value.__contains__, "0123456789"))
