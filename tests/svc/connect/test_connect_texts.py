"""Settings texts, changed in single places: what is put in comes out again, and nothing else moves."""

import json
import tomllib
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from hypothesis import example, given, strategies as st

from svc.connect import changes as switched
from svc.connect.changes import Append, Change, Document, EnvText, JsonText, Put, Refused, TomlText

HOOK = {"hooks": [{"type": "command", "command": "svc hook claude-code", "timeout": 5}]}
Kind = Callable[[str], Document]


def apply(kind: Kind, text: str, changes: Sequence[Change]) -> str:
    document = kind(text)
    switched.apply(document, changes)
    return document.render()


def undo(kind: Kind, text: str, changes: Sequence[Change], before: str) -> tuple[str, list[str]]:
    document = kind(text)
    left = switched.undo(document, changes, kind(before))
    return document.render(), left


JSON_CHANGES: tuple[Change, ...] = (
    Put(("env", "OTEL_LOGS_EXPORTER"), "otlp"),
    Put(("env", "OTEL_LOG_USER_PROMPTS"), "1"),
    Append(("hooks", "Stop"), HOOK),
    Append(("hooks", "SessionStart"), HOOK),
)
EXPORTER = {"otlp-http": {"endpoint": "http://h/v1/logs", "protocol": "json", "headers": {"authorization": "Bearer k"}}}
TOML_CHANGES = (Put(("otel", "log_user_prompt"), True), Put(("otel", "exporter"), EXPORTER))
ENV_CHANGES = (Put(("OTEL_EXPORTER_OTLP_HEADERS",), "Authorization=Bearer%20k"),)

JSON_TEXTS = {
    "tabs and no line end": '{\n\t"env": {},\n\t"hooks": {\n\t\t"Stop": []\n\t}\n}',
    "carriage returns": '{\r\n  "model": "opus"\r\n}\r\n',
    "odd numbers": '{"n": 1.50e+05, "big": 123456789012345678901234567890}\n',
    "odd escapes and blanks": '{"u": "\\u00e9\\/", "é": [1,2 ,3]}\n',
    "another's telemetry": '{"env": {"OTEL_LOGS_EXPORTER": "console", "OTEL_LOG_USER_PROMPTS": "1"}}\n',
    "a null, which is not missing": '{"env": {"OTEL_LOGS_EXPORTER": null}}\n',
}
TOML_TEXTS = {
    "empty": "",
    "comments": '# mine\nmodel = "gpt"   # the big one\n\n[tui]\n# loud\nnotifications = true\n',
    "no line end": 'model = "gpt"',
    "otel of another": '[otel]\nenvironment = "prod" # keep\nexporter = "none"\n\n[tui]\nx = 1\n',
    "otel as keys with dots": 'otel.environment = "prod"\nmodel = "gpt"\n',
    "a table below otel": '[otel]\nlog_user_prompt = false\n\n[otel.exporter.otlp-http]\nendpoint = "http://o"\n',
    "lists of tables": '[[skills]]\npath = "a"\n\n[[skills]]\npath = "b"\n\n[projects."/home/ana"]\nx = 1\n',
    "carriage returns": 'model = "gpt"\r\n\r\n[tui]\r\nx = 1\r\n',
}
ENV_TEXTS = {
    "empty": "",
    "others": "# keys\nGEMINI_API_KEY=abc\nexport FOO='a b'\n",
    "no line end": "A=1",
    "another's header": "A=1\nOTEL_EXPORTER_OTLP_HEADERS=x=y\nB=2\n",
}


CHANGES: dict[Kind, tuple[Change, ...]] = {JsonText: JSON_CHANGES, TomlText: TOML_CHANGES, EnvText: ENV_CHANGES}
KINDS: dict[Kind, dict[str, str]] = {JsonText: JSON_TEXTS, TomlText: TOML_TEXTS, EnvText: ENV_TEXTS}


@pytest.mark.parametrize(("document", "name"), [(kind, name) for kind, texts in KINDS.items() for name in texts])
def test_every_change_stands_in_the_text_and_is_undone_by_keys(document: Kind, name: str) -> None:
    """Once: a second time there is nothing to do. Comments stay. An untouched file gets its bytes from its copy."""
    text, changes = KINDS[document][name], CHANGES[document]
    new = apply(document, text, changes)
    for change in changes:
        found = document(new).get(change.path)
        assert change.value in found if isinstance(change, Append) else found == change.value
    assert apply(document, new, changes) == new
    assert [line for line in text.splitlines() if "#" in line and line not in new] == []
    assert name != "comments" or new.startswith(text)
    back, left = undo(document, new, changes, text)
    assert (_values(document, back), left) == (_values(document, text), [])


@pytest.mark.parametrize(
    ("document", "text", "reason"),
    [
        (JsonText, '{\n  // mine\n  "a": 1\n}', "line 2"),
        (JsonText, "[]", "no JSON object"),
        (JsonText, '{"a": 1, "a": 2}', "twice"),
        (JsonText, '{"a": NaN}', "cannot be written"),
        (JsonText, '{"a": "\\ud800é"}', "half of a character"),
        (JsonText, "[" * 100_000, "nested too deeply"),
        (JsonText, '{"env": "no object"}', "env is no table or object"),
        (JsonText, '{"hooks": {"Stop": {}}}', "hooks.Stop is no list"),
        (TomlText, "a = ", "not TOML"),
        (TomlText, "otel = 1", "otel is no table or object"),
        (JsonText, '{"n": 1e999}', "cannot be written"),
    ],
)
def test_what_cannot_be_read_surely_is_not_touched(document: Kind, text: str, reason: str) -> None:
    with pytest.raises(Refused, match=reason):
        apply(document, text, CHANGES[document])


def test_what_a_person_changed_since_stays() -> None:
    """And is named. The rest goes, but what stood there before; what they took out themselves is not missed."""
    before = json.dumps({"env": {"OTEL_LOG_USER_PROMPTS": "0"}, "hooks": {"SessionStart": [HOOK]}})
    known = json.loads(apply(JsonText, before, JSON_CHANGES))
    known["env"]["OTEL_LOGS_EXPORTER"] = "console"
    del known["env"]["OTEL_LOG_USER_PROMPTS"], known["hooks"]["Stop"]
    back, left = undo(JsonText, json.dumps(known), JSON_CHANGES, before)
    assert left == ["env.OTEL_LOGS_EXPORTER"]
    odd = '{"env": {"OTEL_LOGS_EXPORTER":  "otlp"}, "n": 1.50}'
    assert apply(JsonText, odd, JSON_CHANGES[:1]) == odd, "what says it all already is not written anew"
    assert json.loads(back) == {"env": {"OTEL_LOGS_EXPORTER": "console"}, "hooks": {"SessionStart": [HOOK]}}


def test_variables_stand_in_a_block_of_their_own() -> None:
    """The last line of a name holds, so another's stays where it is."""
    text = ENV_TEXTS["another's header"]
    block = "# svc connect: begin\nOTEL_EXPORTER_OTLP_HEADERS=Authorization=Bearer%20k\n# svc connect: end\n"
    assert apply(EnvText, text, ENV_CHANGES) == text + block
    edited = f"{text}{block}C=3\n"
    assert EnvText(edited).get(ENV_CHANGES[0].path) == ENV_CHANGES[0].value
    assert undo(EnvText, edited, ENV_CHANGES, text) == (f"{text}C=3\n", [])
    assert undo(EnvText, f"{block[:30]}\nA=1\n", ENV_CHANGES, "") == (f"{block[:30]}\nA=1\n", [])


# --- anything at all --------------------------------------------------------------------------------------

_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=12,
)
_STRINGS = st.dictionaries(st.text(max_size=5), st.text(max_size=5), max_size=3)
_GROUPS = st.dictionaries(st.sampled_from(["Stop", "SessionStart", "Other"]), st.lists(_VALUES, max_size=2), max_size=3)
_SETTINGS = st.builds(
    lambda free, env, hooks: {**free, **({"env": env} if env else {}), **({"hooks": hooks} if hooks else {})},
    st.dictionaries(st.text(max_size=5).filter(lambda key: key not in ("env", "hooks")), _VALUES, max_size=4),
    _STRINGS,
    _GROUPS,
)


@example({"\x7f": None, "env": {"\x07": ""}}, 1, False)
@given(_SETTINGS, st.sampled_from([1, 2, 4, "\t"]), st.booleans())
def test_whatever_the_settings_hold_they_come_back_byte_for_byte(
    settings: dict[str, Any], indent: int | str, ascii_only: bool
) -> None:
    text = json.dumps(settings, indent=indent, ensure_ascii=ascii_only)
    assert undo(JsonText, apply(JsonText, text, JSON_CHANGES), JSON_CHANGES, text) == (text, [])


@given(_SETTINGS, st.dictionaries(st.text(min_size=1, max_size=5), _VALUES, max_size=3))
def test_edited_in_between_only_our_own_keys_go(settings: dict[str, Any], added: dict[str, Any]) -> None:
    """As an agent does that writes its settings anew."""
    added = {key: value for key, value in added.items() if key not in ("env", "hooks")}
    edited = {**json.loads(apply(JsonText, json.dumps(settings), JSON_CHANGES)), **added}
    back, left = undo(JsonText, json.dumps(edited), JSON_CHANGES, json.dumps(settings))
    assert (json.loads(back), left) == ({**settings, **added}, [])


def _values(document: Kind, text: str) -> Any:
    if document is JsonText:
        return json.loads(text)
    if document is TomlText:
        return tomllib.loads(text)
    return text if text.endswith("\n") or not text else text + "\n"
