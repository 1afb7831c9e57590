"""Secrets are taken out of every text before it is stored: keys, tokens, passwords, e-mail addresses.

Each kind of secret has a few letters that must occur (`ghp_`, `://`, `@`); only where they stand is anything matched,
over a bounded or consumed length. So the time is linear in the text, whatever it holds.

Rather one harmless string too many than one secret too few, except where code would become unreadable:
names, calls, look-ups, types, hashes, ids and encoded images stay.
"""

import re
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from itertools import accumulate, chain
from pkgutil import get_data
from typing import NamedTuple, TypeVar

import msgspec

_T = TypeVar("_T")
_PASSES_MAX = 4  # taking one secret out can lay bare its neighbour, which now stands at a boundary; rarely a third one
_APART = "\n\x03\n"  # between texts that are looked through together: no secret reaches across it


class Finding(NamedTuple):
    """A secret in a text: characters [start, end), and what kind it is."""

    start: int
    end: int
    kind: str


class Redacted(NamedTuple):
    """A text with `[REDACTED:kind]` for each secret, and how many of each kind there were."""

    text: str
    counts: dict[str, int]


def redact(text: str) -> Redacted:
    """Takes secrets out of a text. Redacting the result again changes nothing and counts nothing."""
    counts: Counter[str] = Counter()
    for _ in range(_PASSES_MAX):
        findings = find_secrets(text)
        if not findings:
            break
        pieces, done = [], 0
        for start, end, kind in findings:
            pieces += [text[done:start], f"[REDACTED:{kind}]"]
            done = end
        text = "".join([*pieces, text[done:]])
        counts.update(finding.kind for finding in findings)
    return Redacted(text, dict(sorted(counts.items())))


def redact_among(texts: Sequence[str]) -> dict[int, Redacted]:
    """Those of many texts that hold secrets, by their place; looked through together, in a fraction of the time."""
    starts = list(accumulate((len(each) + len(_APART) for each in texts), initial=0))
    dirty: dict[int, None] = {}
    for finding in find_secrets(_APART.join(texts)):
        first = bisect_right(starts, finding.start) - 1
        dirty |= dict.fromkeys(range(first, min(bisect_right(starts, finding.end - 1), len(texts))))
    redacted = {index: redact(texts[index]) for index in dirty}
    return {index: each for index, each in redacted.items() if each.counts}


def find_secrets(text: str) -> list[Finding]:
    """All secrets in the order of the text; of two that overlap, the one of the more specific kind."""
    # U+0130 is the one character whose lower case is longer: it would shift every place after it.
    lowered = text.replace("\u0130", "i").lower()
    candidates = [  # the more specific kinds first
        *chain.from_iterable(_formed(form, lowered if form.lowered else text) for form in _hinted(_KNOWN.forms, text)),
        *chain.from_iterable(_formed(form, text) for form in _run_forms(text)),
        *chain.from_iterable(_assigned(name, text, lowered) for name in _hinted(_KNOWN.names, lowered)),
        *_email_addresses(text),
        *_card_numbers(text),
    ]
    kept: list[tuple[int, Finding]] = []
    for rank, finding in sorted(enumerate(candidates), key=lambda item: (item[1].start, item[0])):
        while kept and finding.start < kept[-1][1].end and rank < kept[-1][0]:
            kept.pop()
        if not kept or finding.start >= kept[-1][1].end:
            kept.append((rank, finding))
    return [finding for _, finding in kept]


def _hinted(groups: dict[str, list[_T]], text: str) -> Iterator[_T]:
    return (each for part, group in groups.items() if part in text for each in group)


# Secrets that are known by their own form, wherever they stand: tokens, private keys, headers, passwords in addresses.

_LETTERS_AND_DIGITS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"


class _Form(msgspec.Struct, frozen=True):
    kind: str
    start: str
    rest: re.Pattern[str]
    digits: int = 1
    not_after: str = ""
    anywhere: bool = False
    lowered: bool = False


class _Name(msgspec.Struct, frozen=True):
    """A word that promises a secret: one that people choose, or one that is made."""

    word: str
    kind: str = "password"
    chosen: bool = True
    spaces: bool = False
    before: re.Pattern[str] | None = None


class _Known(msgspec.Struct, frozen=True):
    """Forms and names under something short that all of a group hold; the file says what each field means."""

    forms: dict[str, list[_Form]]
    names: dict[str, list[_Name]]
    run_forms: dict[str, list[_Form]]
    tokens: dict[str, list[tuple[str, re.Pattern[str]]]]
    no_passwords: str


_KNOWN = msgspec.toml.decode(
    get_data(__name__, "secrets.toml") or b"", type=_Known, dec_hook=lambda _, text: re.compile(text, re.ASCII)
)
_RUN_FORMS = _KNOWN.run_forms | {
    start: [_Form(f"{vendor}-token", start, rest, not_after="_")]
    for vendor, forms in _KNOWN.tokens.items()
    for start, rest in forms
}
_NO_PASSWORDS = frozenset(_KNOWN.no_passwords.split())
_AWS_SECRET = re.compile(
    r"""["']?[\s:,;|/]{1,8}(?:[A-Za-z_ ]{1,40}["']?\s{0,4}[:=]\s{0,4})?["']?"""
    r"""([A-Za-z0-9/+]{40})(?![A-Za-z0-9/+=])"""
)
"""The secret that goes with an AWS key and follows it, in a table, a file or a line of its own."""


_LONG_RUN = re.compile(r"[A-Za-z0-9_.~+/-]{15,}")
_BEGINNINGS = re.compile("(?<![A-Za-z0-9])[A-Za-z0-9]{1,2}")
_OF_RUNS = [(part, form) for part, group in _RUN_FORMS.items() for form in group]
_BEGUN = defaultdict[str, list[int]](list)
"""Places in `_OF_RUNS` under the first letters and digits of the form, at most two."""
for _place, (_, _form) in enumerate(_OF_RUNS):
    _BEGUN[_BEGINNINGS.findall(_form.start)[0]].append(_place)


def _run_forms(text: str) -> list[_Form]:
    """Those that a text's long runs may hold: few, by the beginnings of words, for no token begins within one."""
    runs = " ".join(filter(_has_digit, _LONG_RUN.findall(text)))
    places = sorted(chain.from_iterable(_BEGUN[each] for each in _BEGUN.keys() & set(_BEGINNINGS.findall(runs))))
    return [form for part, form in map(_OF_RUNS.__getitem__, places) if part in runs]


def _formed(form: _Form, text: str) -> Iterator[Finding]:
    place = text.find(form.start)
    while place >= 0:
        end = place + len(form.start)
        before = text[place - 1 : place]
        free = form.anywhere or not before or (before not in _LETTERS_AND_DIGITS and before not in form.not_after)
        if free and (found := form.rest.match(text, end)):
            end = found.end()
            group = form.rest.groups
            if found[group] and sum(map(found[0].count, "0123456789")) >= form.digits:
                yield Finding(found.start(1) if group else place, found.end(group), form.kind)
                if form.kind == "aws-key" and (secret := _AWS_SECRET.match(text, end)):
                    yield Finding(*secret.span(1), "aws-secret")
        place = text.find(form.start, end)


_LOCAL_CHARACTERS = _LETTERS_AND_DIGITS + "._%+-"
_LOCAL_CHARACTERS_MAX = 64
_AT_DOMAIN = re.compile(r"@([A-Za-z0-9.-]{4,253})")
_NO_MAIL = re.compile(r"v?\d+\.\d|[23]x\.|.*\.(?:png|jpe?g|gif|svg|webp|ico)$", re.IGNORECASE)
"""Package versions and images for fine screens: `left-pad@1.3.0-rc.next`, `logo@2x.png`."""


def _email_addresses(text: str) -> Iterator[Finding]:
    """E-mail addresses of people; `git@host` names a service, `self.a@self.b` multiplies matrices."""
    for found in _AT_DOMAIN.finditer(text):
        place, domain = found.start(), found[1].rstrip(".-")
        *labels, top = domain.split(".")
        if not labels or not all(labels) or not (top.isalpha() and 2 <= len(top) <= 24) or _NO_MAIL.match(found[1]):
            continue
        window = text[max(0, place - _LOCAL_CHARACTERS_MAX - 1) : place]
        local = window[len(window.rstrip(_LOCAL_CHARACTERS)) :].lstrip(".%+-")
        if 0 < len(local) <= _LOCAL_CHARACTERS_MAX and local != "git" and not local.startswith("self."):
            yield Finding(place - len(local), place + 1 + len(domain), "email")


# The digit stands before the look behind it: a pattern that begins with one is tried at each character.
_CARD = re.compile(r"[2-6](?<![\w.+/-].)\d{3}([ -]?)\d{4,6}\1\d{4,5}(?:\1\d{1,4})?(?![\w.-]?\w)", re.ASCII)
_CARD_ISSUER = re.compile(
    r"4\d{15}|(?:5[1-5]|2(?:22[1-9]|2[3-9]|[3-6]|7[01]|720))\d+|3[47]\d{13}|(?:6011|65|64[4-9]|35[2-8])\d+|3(?:0[0-5]|[68])\d+"
)
_CARD_DIGITS = {14: ("4-6-4",), 15: ("15", "4-6-5"), 16: ("16", "4-4-4-4")}
"""How cards are written. Other lengths without spaces are ids and times far more often."""
_DIGITS = bytes(ord("0" if chr(each).isascii() and chr(each).isdigit() else " ") for each in range(256))


def _card_numbers(text: str) -> Iterator[Finding]:
    """Payment cards: an issuer's first digits, the groups that stand on a card, and the check digit."""
    has_group = b"0000" in text.encode("ascii", "replace").translate(_DIGITS)
    for found in _CARD.finditer(text) if has_group else ():
        groups = re.split(r"[ -]", found[0])
        digits = "".join(groups)
        written = "-".join(str(len(group)) for group in groups) in _CARD_DIGITS.get(len(digits), ())
        doubled = (sum(divmod(2 * int(each), 10)) for each in digits[-2::-2])
        checked = (sum(map(int, digits[-1::-2])) + sum(doubled)) % 10 == 0 and len(set(digits)) > 1
        if written and checked and _CARD_ISSUER.match(digits):
            yield Finding(*found.span(), "card-number")


# Secrets that are known by the name they are given: `password = …`, `"api_key": "…"`, `--token …`.
#
# Passwords are words that people choose, so almost any quoted value is one; keys and tokens are made by machines, so
# they are long and hold digits.

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


def _assigned(name: _Name, text: str, lowered: str) -> Iterator[Finding]:
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
    # The name is assigned to, is a command's option or a setter.
    found = _ASSIGNMENT.match(lowered, end) or ("--" in before and _ARGUMENT.match(lowered, end))
    found = found or (_SETTER.search(before) and _CALL.match(lowered, end))
    if not found:
        return None
    given = found.end()
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


_PLACEHOLDER = re.compile(
    r"""[$%<{\[*~/@]|\.{2}|\.?/|\#\{|x{3,}$|(?:your|my|some|example|change|dummy|fake|redacted|placeholder|sample)(?![a-z0-9])
    |your|process\.|os\.|env[.:]|vault:|arn:|[a-z]+://|file:""",
    re.IGNORECASE | re.VERBOSE,
)
_OPENING = ("(", "[", "{", "<")
_TEMPLATE = re.compile(r"\$\{|\{\{|%\(|%s|<[^<>]*+>|\$\(")
# Between the last `<` and its `>` stands neither: a text of nothing but `<` is looked at once.
_NAME_PARTS = re.compile(r"pass|pwd|secret|token|key|user|cred|conf|env|input|field|arg|value|hash|self|this|get")
_TYPE_OR_ALGORITHM = re.compile(
    r"(?:u?int|float|[iuf])\d+|utf-?\d|sha-?\d|md\d|base\d|aes|varchar|argon|bcrypt|oauth|string\d?$|http|v\d|rsa"
    r"|pbkdf|hs\d{3}|es\d{3}",
    re.IGNORECASE,
)
_IDENTIFIER = re.compile(r"[A-Za-z_$][\w$]*+(?:(?:\.|->|::|\?\.)[A-Za-z_$][\w$]*+)*+;?$")
_WORDS = re.compile(r"[A-Za-z]++(?:[_.-][A-Za-z]++)++[_.-]?\d{0,4}$|[A-Za-z]++[_.-]?\d{0,2}$")
_ENVIRONMENT_NAME = re.compile(r"[A-Z][A-Z0-9]*+(?:_[A-Z0-9]++)++$")


def _is_quoted_secret(name: _Name, value: str) -> bool:
    """Whether it is a password rather than a label, a type or a message."""
    if _PLACEHOLDER.match(value) or _TEMPLATE.search(value) or (not name.spaces and any(map(str.isspace, value))):
        return False
    if not name.chosen:
        return _is_made(value)
    if len(value) < 4 or value.lower() in _NO_PASSWORDS:
        return False
    if not value.isalpha():
        named = _WORDS.match(value) and not _has_digit(value) and _NAME_PARTS.search(value.lower())
        return not named and not _ENVIRONMENT_NAME.match(value)
    return value.isascii() and not value.istitle() and not _NAME_PARTS.search(value.lower())


def _is_made(value: str) -> bool:
    mixed = len(value) >= 8 and _has_digit(value) and any(map(str.isalpha, value))
    return mixed and not _WORDS.match(value) and not _ENVIRONMENT_NAME.match(value)


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
