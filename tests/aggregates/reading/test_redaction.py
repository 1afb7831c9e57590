"""Secrets leave a text, everything else stays, and the time grows with the text only."""

import base64
import hashlib
import re
import string
import sysconfig
from itertools import cycle, islice
from pathlib import Path
from uuid import uuid5

import pytest
from hypothesis import given, strategies as st

from aggregates.event import Redacted
from aggregates.reading import redaction
from aggregates.reading.redaction import find_secrets, redact, redact_among
from aggregates.telemetry.envelope import without_secrets
from tests.support.basics import ANA
from tests.support.tables import beside, each_of

# Built from pieces and hashes, so that no tool that guards repositories takes this file for a leak.
_HEX = hashlib.sha256(b"not a real secret").hexdigest()
_MIXED = base64.b64encode(hashlib.sha512(b"nor is this").digest()).decode().translate({43: "A", 47: "b", 61: "C"})
_MIXED_WITH_DIGITS = "".join(string.ascii_letters[int(_HEX[i : i + 2], 16) % 52] + str(i % 10) for i in range(0, 64, 2))
_AWS_ID = "AKIA" + "IOSFODNN7EXAMPLE"
_AWS_SECRET = "wJalrXUtnFEMI/K7MDENG/" + "bPxRfiCYEXAMPLEKEY"
_JWT = ".".join(("eyJhbGciOiJIUzI1NiJ9", "eyJzdWIiOiIxMjM0NTY3ODkwIn0", _MIXED[:43]))
_PEM = "-----BEGIN RSA PRIVATE KEY-----\n" + f"{_MIXED}\n" * 3 + "-----END RSA PRIVATE KEY-----"


def lines_of(file: str) -> list[str]:
    return Path(__file__).with_name(file).read_text(encoding="utf-8").splitlines()


_TOKENS = [
    ("aws-key", _AWS_ID),
    ("jwt", _JWT),
    ("private-key", _PEM),
    ("private-key", _PEM.replace("\n", "\\n")),
    ("email", "ana.example+work@mail.example.org"),
]


TOKEN_FORMS = [line.partition(" ") for line in lines_of("token_forms.txt")]


def formed(recipe: str) -> str:
    """Put together here, so that no scanner takes the list for a leak: `M*9` is nine mixed characters, `H*9` hex."""
    found = ""
    for part in recipe.split():
        alphabet, _, length = part.partition("*")
        letters = {"M": _MIXED_WITH_DIGITS, "H": _HEX}.get(alphabet, alphabet)
        found += "".join(islice(cycle(letters), int(length))) if length else part
    return found


@beside()
def test_a_secret_is_replaced_by_what_it_is(told: str, hidden: str, kind: str) -> None:
    """What stands in angles is put in here, so that no scanner takes the list for a leak."""
    put = {"<AWS>": _AWS_SECRET, "<BASIC>": base64.b64encode(b"ana:hunter2").decode()}

    def shown(told: str) -> str:
        return re.sub(r"<\w+>", lambda named: put.get(named[0]) or _MIXED[: int(named[0][1:-1])], told)

    text, secret = shown(told), shown(hidden)
    assert redact(text) == (text.replace(secret, f"[REDACTED:{kind}]"), {kind: 1})


def test_the_secret_that_follows_an_aws_key_goes_with_it() -> None:
    """As in the table the console shows, without a name that would give it away."""
    text = f"{_AWS_ID}\n{_AWS_SECRET}\n"
    assert redact(text) == ("[REDACTED:aws-key]\n[REDACTED:aws-secret]\n", {"aws-key": 1, "aws-secret": 1})


def test_a_private_key_that_was_cut_off_is_replaced_to_its_end() -> None:
    """The END line need not be there; what follows the body stays."""
    text = _PEM[: _PEM.index("-----END")] + "... and so on"
    assert redact(text).text == "[REDACTED:private-key]... and so on"


def test_every_secret_of_a_text_is_replaced_and_counted() -> None:
    """By kind, in alphabetical order, so that equal texts give equal events."""
    text = "mail a@example.org and b@example.org, password=hunter2, key " + _AWS_ID
    assert redact(text).counts == {"aws-key": 1, "email": 2, "password": 1}
    assert list(redact(text).counts) == ["aws-key", "email", "password"]


@each_of(
    [
        *(each.replace("\\n", "\n") for each in lines_of("ordinary.txt")),
        f"commit {_HEX[:40]}",
        f"sha256:{_HEX}",
        f"session {uuid5(ANA, 'x')}",
        f"data:image/png;base64,iVBORw0KGgo{_MIXED}AKIA{_MIXED}AIza{_MIXED}",
        "",
        *("4111111111111112", "1763908245123456", "1763908245123456789", "4111111111111111111", "id-4111111111111111"),
        *("4111111111111111a", "0.4111111111111111", "4444444444444444", "2024-11-23 14:00:00", "555 1234 5678"),
        *("4a1b" * 4, "3000000000000000"),
    ],
)
def test_ordinary_text_stays(text: str) -> None:
    """Code, placeholders, labels, hashes and ids are no secrets; wrong check digits, times and fractions no card."""
    assert redact(text) == (text, {})


_SIGNS = ("=", ":", " ", '"', "'", "@", "://", "a", ".", "-", "_", "\n", "\u0130", "\ud800", "[", "]")
_WORDS = ("password", "hunter2", "token", "api_key", "sk-", "AKIA", "eyJ", "bearer ", "authorization", "-----BEGIN ")
_PIECES = st.sampled_from(
    [
        *(token for _, token in _TOKENS),
        *(formed(form) for _, _, form in TOKEN_FORMS[:20]),
        *_SIGNS,
        *_WORDS,
        "비밀번호는",
    ]
)


@given(st.lists(st.lists(_PIECES, max_size=4).map("".join), max_size=4).map("\n".join))
def test_redacting_twice_is_redacting_once(text: str) -> None:
    once = redact(text)
    assert redact(once.text) == (once.text, {})


@given(st.text(max_size=200))
def test_any_text_can_be_redacted(text: str) -> None:
    """No text is an error, and what holds no sign of a secret stays as it is."""
    result = redact(text)
    assert (result.text == text) == (result.counts == {})


_HOSTILE = (
    "sk-|eyJ-|eyJ-abcdefgh.|AKIA|AKIAABCDEFGHIJKLMNOP |password=|password='password=\"|password: a b=|_pass|"
    "비밀번호는|token: |key|bearer a|authorization:    |@|a@a|a.b@c.de |://a:|-----BEGIN |"
    '-----BEGIN PRIVATE KEY-----|password="<|<|{{|%'
)


@pytest.mark.parametrize("piece", [*_HOSTILE.split("|"), "a" * 63 + "@", "|", " "])
def test_a_hostile_text_takes_no_more_than_its_length(piece: str) -> None:
    """A quarter of a megabyte that begins a secret at every turn; quadratic time would take minutes."""
    text = piece * (2**18 // len(piece))
    assert len(redact(text).text) > 0


def test_many_secrets_in_one_of_many_texts_are_looked_for_as_often_as_one(monkeypatch: pytest.MonkeyPatch) -> None:
    looked_at: list[str] = []

    def counted(text: str) -> list[redaction.Finding]:
        looked_at.append(text)
        return find_secrets(text)

    monkeypatch.setattr(redaction, "find_secrets", counted)
    addresses = " ".join(f"dev{number}@example.com" for number in range(1_600))
    found = redact_among(["nothing here", addresses])
    assert found[1].counts == {"email": 1_600}
    assert len(looked_at) <= 1 + 4, "all together once, then the one text in at most four passes"


@each_of([*_TOKENS, *((kind, formed(form)) for kind, _, form in TOKEN_FORMS)])
def test_the_token_forms_that_common_scanners_know_are_found(kind: str, token: str) -> None:
    """In prose, in code and in a shell, without a name that would give it away."""
    for around in ("{}", "use {} here", 'x("{}")', "curl -u {}:", "x={}", "`{}`,", "키는 {}를 써"):
        cleaned = redact(around.format(token))
        assert cleaned.counts == {kind: 1}
        assert cleaned.text == around.format(f"[REDACTED:{kind}]")


@pytest.mark.parametrize(
    "number",
    [
        *("4111" + "1" * 12, "-".join(("4111", *["1111"] * 3)), "5555 5555 5555 4444", "3782 822463 10005"),
        *("6011" + "1111" * 2 + "1117", "3530" + "1113" + "3330" + "0000", "2223 0031 2200 3222", "3056 930902 5904"),
    ],
)
def test_a_card_number_goes(number: str) -> None:
    """As the issuers' own test cards are written: in one, or in the groups of the card."""
    assert redact(f"pay with {number}, please").text == "pay with [REDACTED:card-number], please"


def test_ordinary_code_and_prose_raise_next_to_no_alarm() -> None:
    """Fewer than one in a thousand lines of Python's library and of this project's pages; addresses are real ones."""
    sources = sorted(Path(sysconfig.get_paths()["stdlib"]).glob("*.py"))[:40]
    texts = [
        path.read_text("utf-8", "replace")
        for path in (*sources, *sorted((Path(__file__).parents[3] / "docs").rglob("*.md")))
    ]
    alarms = [found for text in texts for found in find_secrets(text) if found.kind != "email"]
    lines = sum(text.count("\n") for text in texts)
    assert lines > 10_000
    assert len(alarms) * 1_000 < lines


def test_each_string_of_a_json_text_is_replaced_where_it_stands() -> None:
    """Also with escapes around it, and inside others; a string that repeats is told once."""
    text = rb'{"a":"x@example.com","b":["x@example.com","\\","\"x@example.com\" \\ y"],"c":"plain \" \\"}'
    expected = rb'{"a":"[REDACTED:email]","b":["[REDACTED:email]","\\","\"[REDACTED:email]\" \\ y"],"c":"plain \" \\"}'
    told = {"x@example.com": "[REDACTED:email]", '"x@example.com" \\ y': '"[REDACTED:email]" \\ y'}
    found = {plain: Redacted(cleaned, {"email": 1}) for plain, cleaned in told.items()}
    assert without_secrets([text]) == ([expected], found)
