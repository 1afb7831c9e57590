"""The token forms that common scanners know are found; ordinary code and prose stay as they are."""

import hashlib
import string
import sysconfig
from itertools import cycle, islice
from pathlib import Path

import pytest

from aggregates.reading.redaction import find_secrets, redact
from aggregates.telemetry.envelope import without_secrets

_ROOT = Path(__file__).parents[3]
_HEX = hashlib.sha512(b"no secret at all").hexdigest()
_MIXED = "".join(string.ascii_letters[int(_HEX[i : i + 2], 16) % 52] + str(i % 10) for i in range(0, 128, 2))
_UUID = "-".join((_HEX[:8], _HEX[8:12], _HEX[12:16], _HEX[16:20], _HEX[20:32]))


def _of(alphabet: str, length: int) -> str:
    return "".join(islice(cycle(alphabet), length))


# Values of the right form, put together here, so that no scanner takes this file for a leak.
_FORMS = {
    "hvs" + ".": _of(_MIXED, 95),
    "hvb" + ".": _of(_MIXED, 140),
    "ya29" + ".": _of(_MIXED, 60),
    "GOCSPX" + "-": _of(_MIXED, 28),
    "dop" + "_v1_": _of(_HEX, 64),
    "doo" + "_v1_": _of(_HEX, 64),
    "shpat" + "_": _HEX[:32],
    "shpss" + "_": _HEX[:32],
    "gsk" + "_": _of(_MIXED, 52),
    "xai" + "-": _of(_MIXED, 80),
    "ATATT" + "3": _of(_MIXED, 186),
    "ATBB": _of(_MIXED, 32),
    "dckr" + "_pat_": _of(_MIXED, 27),
    "dapi": _HEX[:32],
    "dp" + ".pt.": _of(_MIXED, 43),
    "dt0c01" + ".": _of("AB2C3D", 24) + "." + _of("X1Y2Z3", 64),
    "duffel" + "_test_": _of(_MIXED, 43),
    "EZAK": _of(_MIXED, 54),
    "EAAM": _of(_MIXED, 120),
    "figd" + "_": _of(_MIXED, 40),
    "FLWSECK_TEST" + "-": _of(_MIXED, 32),
    "fm2" + "_": _of(_MIXED, 120),
    "fio-u" + "-": _of(_MIXED, 64),
    "glrt" + "-": _of(_MIXED, 20),
    "gldt" + "-": _of(_MIXED, 20),
    "glptt" + "-": _HEX[:40],
    "glc" + "_": _of(_MIXED, 64),
    "glsa" + "_": _of(_MIXED, 32) + "_" + _HEX[:8],
    "pat." + _of(_MIXED, 22) + ".": _of(_HEX, 24) + "." + _of(_MIXED, 20),
    "HRKU-" + "AA": _of(_MIXED, 58),
    "pat-na" + "1-": _UUID,
    "ico" + "-": _of(_MIXED, 32),
    "lin" + "_api_": _of(_MIXED, 40),
    "lsv2" + "_pt_": _HEX[:32] + "_" + _HEX[32:42],
    "key" + "-": _HEX[:32],
    "NRAK" + "-": _of("AB2C3D", 27),
    "ntn" + "_": _of(_MIXED, 46),
    "nvapi" + "-": _of(_MIXED, 64),
    "oy2": _of("a2b3c4", 43),
    "sha256" + "~": _of(_MIXED, 43),
    "API" + "-": _of("AB2C3D", 26),
    "pplx" + "-": _of(_MIXED, 48),
    "pscale" + "_tkn_": _of(_MIXED, 43),
    "PMAK" + "-": _HEX[:24] + "-" + _HEX[24:58],
    "pnu" + "_": _of(_MIXED, 36),
    "pul" + "-": _HEX[:40],
    "r8" + "_": _of(_MIXED, 37),
    "rdme" + "_": _of("a1b2c3", 70),
    "rubygems" + "_": _HEX[:48],
    "xkeysib" + "-": _HEX[:64] + "-" + _of(_MIXED, 16),
    "sntryu" + "_": _HEX[:64],
    "shippo" + "_live_": _HEX[:40],
    "squ" + "_": _HEX[:40],
    "sgp" + "_": _HEX[:40],
    "sq0atp" + "-": _of(_MIXED, 22),
    "tskey" + "-auth-": _of(_MIXED, 40),
    "tfp" + "_": _of(_MIXED, 59),
    "SK" + "": _HEX[:32],
    "AKCp": _of(_MIXED, 69),
    "AGE-SECRET-KEY" + "-1": _of("QPZRY9X8GF2TVDW0", 58),
    "LTAI": _of(_MIXED, 20),
    "ABSK": _of(_MIXED, 120),
    "p8e" + "-": _of(_MIXED, 32),
    "A3-" + "AB12CD-": _of("AB2C3D", 11) + "-A1B2C-D3E4F-G5H6I",
    "v1.0" + "-": _HEX[:24] + "-" + _of(_HEX, 146),
    "sbp" + "_": _HEX[:40],
    "re" + "_": _of(_MIXED, 8) + "_" + _of(_MIXED, 24),
    "secret" + "_": _of(_MIXED, 43),
    "xapp" + "-": "1-A0123456789-1234567890123-" + _HEX[:64],
    "rzp" + "_live_": _of(_MIXED, 14),
    "access-sandbox" + "-": _UUID,
    "CCIPAT" + "_": _of(_MIXED, 22) + "_" + _HEX[:40],
    "sk" + "_prod_": _of(_MIXED, 24),
}


@pytest.mark.parametrize(("start", "rest"), list(_FORMS.items()), ids=list(_FORMS))
def test_a_token_goes_wherever_it_stands(start: str, rest: str) -> None:
    """In prose, in code and in a shell, without a name that would give it away."""
    for around in ("use {} here", 'x("{}")', "curl -u {}:", "{}"):
        before, after = around.split("{}")
        cleaned = redact(around.format(start + rest))
        assert cleaned.text.startswith(before + "[REDACTED:")
        assert cleaned.text.endswith("]" + after)
        assert sum(cleaned.counts.values()) == 1


@pytest.mark.parametrize(
    "number",
    ["4111" + "1" * 12, "-".join(("4111", *["1111"] * 3)),
     "5555 5555 5555 4444", "3782 822463 10005", "6011" + "1111" * 2 + "1117", "3530" + "1113" + "3330" + "0000",
     "2223 0031 2200 3222", "3056 930902 5904"],
)  # fmt: skip
def test_a_card_number_goes(number: str) -> None:
    """As the issuers' own test cards are written: in one, or in the groups of the card."""
    assert redact(f"pay with {number}, please").text == "pay with [REDACTED:card-number], please"


@pytest.mark.parametrize(
    "text",
    ["4111111111111112", "1763908245123456", "1763908245123456789", "4111111111111111111", "id-4111111111111111",
     "4111111111111111a", "0.4111111111111111", "4444444444444444", "2024-11-23 14:00:00", "555 1234 5678",
     "4a1b" * 4, "3000000000000000"],
)  # fmt: skip
def test_a_number_that_is_no_card_stays(text: str) -> None:
    """Wrong check digits, times, ids, fractions and hashes."""
    assert redact(text) == (text, {})


def test_ordinary_code_and_prose_raise_next_to_no_alarm() -> None:
    """Fewer than one in a thousand lines of Python's library and of this project's pages; addresses are real ones."""
    sources = sorted(Path(sysconfig.get_paths()["stdlib"]).glob("*.py"))[:40]
    texts = [path.read_text("utf-8", "replace") for path in (*sources, *sorted((_ROOT / "docs").rglob("*.md")))]
    alarms = [found for text in texts for found in find_secrets(text) if found.kind != "email"]
    lines = sum(text.count("\n") for text in texts)
    assert lines > 10_000
    assert len(alarms) * 1_000 < lines


def test_each_string_of_a_json_text_is_replaced_where_it_stands() -> None:
    """Also with escapes around it, and inside others; a string that repeats counts once."""
    text = rb'{"a":"x@example.com","b":["x@example.com","\\","\"x@example.com\" \\ y"],"c":"plain \" \\"}'
    expected = rb'{"a":"[REDACTED:email]","b":["[REDACTED:email]","\\","\"[REDACTED:email]\" \\ y"],"c":"plain \" \\"}'
    assert without_secrets([text]) == ([expected], {"email": 2})
