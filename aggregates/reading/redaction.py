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

from aggregates.event import Redacted

_T = TypeVar("_T")
_PASSES_MAX = 4  # where secrets touch each other, a pass takes out the first, which lays bare the next
_APART = "\n\x03\n"  # between texts that are looked through together: no secret reaches across it
_DIGIT = re.compile("[0-9]")


class Finding(NamedTuple):
    """A secret in a text: characters [start, end), and what kind it is."""

    start: int
    end: int
    kind: str


def redact(text: str) -> Redacted:
    """Takes secrets out of a text. Redacting the result again changes nothing, but where more than four touch."""
    return redact_among((text,)).get(0) or Redacted(text, {})


def redact_among(texts: Sequence[str]) -> dict[int, Redacted]:
    """Those of many texts that hold secrets, by their place; looked through together, in a fraction of the time."""
    counts: defaultdict[int, Counter[str]] = defaultdict(Counter)
    cleaned, left = list(texts), list(range(len(texts)))
    for _ in range(_PASSES_MAX):
        looked = [cleaned[index] for index in left]
        secrets = find_secrets(_APART.join(looked))
        if not secrets:
            break
        starts = list(accumulate((len(text) + len(_APART) for text in looked), initial=0))
        found: defaultdict[int, list[Finding]] = defaultdict(list)
        for finding in secrets:
            found[bisect_right(starts, finding.start) - 1].append(finding)
        for place, findings in found.items():
            pieces, text, done = list[str](), cleaned[left[place]], 0
            for start, end, kind in findings:
                pieces += [text[done : start - starts[place]], f"[REDACTED:{kind}]"]
                done = end - starts[place]
                counts[left[place]][kind] += 1
            cleaned[left[place]] = "".join([*pieces, text[done:]])
        left = [left[place] for place in found]
    return {index: Redacted(cleaned[index], dict(sorted(kinds.items()))) for index, kinds in counts.items()}


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
    shapes: dict[str, str]


_KNOWN = msgspec.toml.decode(
    get_data(__name__, "secrets.toml") or b"", type=_Known, dec_hook=lambda _, text: re.compile(text, re.ASCII)
)
_RUN_FORMS = _KNOWN.run_forms | {
    start: [_Form(f"{vendor}-token", start, rest, not_after="_")]
    for vendor, forms in _KNOWN.tokens.items()
    for start, rest in forms
}
_NO_PASSWORDS = frozenset(_KNOWN.no_passwords.split())
_SHAPES = {name: re.compile(each) for name, each in _KNOWN.shapes.items()}
_OF_RUNS = [(part, form) for part, group in _RUN_FORMS.items() for form in group]
_BEGUN = defaultdict[str, list[int]](list)
"""Places in `_OF_RUNS` under the first letters and digits of the form, at most two."""
for _place, (_, _form) in enumerate(_OF_RUNS):
    _BEGUN[_SHAPES["beginning"].findall(_form.start)[0]].append(_place)


def _run_forms(text: str) -> list[_Form]:
    """Those that a text's long runs may hold: few, by the beginnings of words, for no token begins within one."""
    runs = " ".join(filter(_DIGIT.search, _SHAPES["long run"].findall(text)))
    begun = _BEGUN.keys() & set(_SHAPES["beginning"].findall(runs))
    places = sorted(chain.from_iterable(map(_BEGUN.__getitem__, begun)))
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
                if form.kind == "aws-key" and (secret := _SHAPES["aws secret"].match(text, end)):
                    yield Finding(*secret.span(1), "aws-secret")
        place = text.find(form.start, end)


_LOCAL_CHARACTERS = _LETTERS_AND_DIGITS + "._%+-"
_LOCAL_CHARACTERS_MAX = 64


def _email_addresses(text: str) -> Iterator[Finding]:
    """E-mail addresses of people; `git@host` names a service, `self.a@self.b` multiplies matrices."""
    for found in _SHAPES["at a domain"].finditer(text):
        place, domain = found.start(), found[1].rstrip(".-")
        *labels, top = domain.split(".")
        named = all(labels) and top.isalpha() and 2 <= len(top) <= 24
        if not labels or not named or _SHAPES["no mail"].match(found[1]):
            continue
        window = text[max(0, place - _LOCAL_CHARACTERS_MAX - 1) : place]
        local = window[len(window.rstrip(_LOCAL_CHARACTERS)) :].lstrip(".%+-")
        if 0 < len(local) <= _LOCAL_CHARACTERS_MAX and local != "git" and not local.startswith("self."):
            yield Finding(place - len(local), place + 1 + len(domain), "email")


_CARD_DIGITS = {14: ("4-6-4",), 15: ("15", "4-6-5"), 16: ("16", "4-4-4-4")}
"""How cards are written. Other lengths without spaces are ids and times far more often."""
_DIGITS = bytes(ord("0" if chr(each).isascii() and chr(each).isdigit() else " ") for each in range(256))


def _card_numbers(text: str) -> Iterator[Finding]:
    """Payment cards: an issuer's first digits, the groups that stand on a card, and the check digit."""
    has_group = b"0000" in text.encode("ascii", "replace").translate(_DIGITS)
    for found in _SHAPES["card"].finditer(text) if has_group else ():
        groups = re.split(r"[ -]", found[0])
        digits = "".join(groups)
        written = "-".join(str(len(group)) for group in groups) in _CARD_DIGITS.get(len(digits), ())
        doubled = (sum(divmod(2 * int(each), 10)) for each in digits[-2::-2])
        checked = (sum(map(int, digits[-1::-2])) + sum(doubled)) % 10 == 0 and len(set(digits)) > 1
        if written and checked and _SHAPES["issuer of cards"].match(digits):
            yield Finding(*found.span(), "card-number")


# Secrets that are known by the name they are given: `password = …`, `"api_key": "…"`, `--token …`.
#
# Passwords are words that people choose, so almost any quoted value is one; keys and tokens are made by machines, so
# they are long and hold digits.


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
    before = lowered[max(0, place - 12) : place].rpartition("\x03")[2]  # nothing of the text before
    if name.before is not None and not name.before.search(before):
        return None
    # The name is assigned to, is a command's option or a setter.
    found = _SHAPES["assignment"].match(lowered, end) or ("--" in before and _SHAPES["argument"].match(lowered, end))
    found = found or (_SHAPES["setter"].search(before) and _SHAPES["call"].match(lowered, end))
    if not found:
        return None
    given = found.end()
    quoted = _SHAPES["quoted"].match(text, given)
    if quoted is not None:
        start, stop = quoted.span(quoted.lastindex or 0)
        value = text[start:stop].rstrip("\\")
        return (start, start + len(value)) if _is_quoted_secret(name, value) else None
    bare = _SHAPES["bare"].match(text, given)
    if bare is None or not _is_bare_secret(name, bare[1], text[bare.end() : bare.end() + 1]):
        return None
    rest = _SHAPES["rest of bare"].match(text, bare.end())
    return bare.start(1), bare.end() if rest is None else rest.end()


_OPENING = ("(", "[", "{", "<")


def _is_quoted_secret(name: _Name, value: str) -> bool:
    """Whether it is a password rather than a label, a type or a message."""
    spaced = not name.spaces and any(map(str.isspace, value))
    if spaced or _SHAPES["placeholder"].match(value) or _SHAPES["template"].search(value):
        return False
    if not name.chosen:
        return _is_made(value)
    if len(value) < 4 or value.lower() in _NO_PASSWORDS:
        return False
    names = _SHAPES["part of a name"].search(value.lower())
    if not value.isalpha():
        named = names and _SHAPES["words"].match(value) and not _has_digit(value)
        return not named and not _SHAPES["name of the environment"].match(value)
    return value.isascii() and not value.istitle() and not names


def _is_made(value: str) -> bool:
    mixed = len(value) >= 8 and _has_digit(value) and any(map(str.isalpha, value))
    return mixed and not _SHAPES["words"].match(value) and not _SHAPES["name of the environment"].match(value)


def _is_bare_secret(name: _Name, value: str, following: str) -> bool:
    """Without quotes only what no code looks like is a secret: letters and digits, no call, no name."""
    if following in _OPENING or _SHAPES["placeholder"].match(value) or _SHAPES["template"].search(value):
        return False
    if not _has_digit(value) or not any(map(str.isalpha, value)):
        return False
    if not name.chosen:
        is_camel_name = _SHAPES["identifier"].match(value) is not None and sum(map(str.isdigit, value)) <= 2
        return len(value) >= 16 and _is_made(value) and not is_camel_name
    if len(value) < 6 or _SHAPES["type or algorithm"].match(value):
        return False
    is_name = _SHAPES["identifier"].match(value) is not None
    return not (is_name and (_SHAPES["part of a name"].search(value.lower()) or re.search(r"\.|->|::", value)))


def _has_digit(value: str) -> bool:
    return _DIGIT.search(value) is not None
