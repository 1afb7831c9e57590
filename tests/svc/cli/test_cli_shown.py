"""What commands show fits whoever looks: a terminal, a pipe; and they take people by name or by id."""

import json
import re
import time
from collections.abc import Callable
from datetime import UTC
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from click.testing import CliRunner

from svc import cli
from svc.cli import importing, main
from svc.cli.access import BUSY_TRIES, Access, NotFound, NotReached, chosen
from svc.cli.common import cell, print_json, say, show_fields, show_table
from svc.cli.scoring import show_goals
from svc.importing.exchange import TornLine
from svc.importing.importer import ImportReport, Refusal
from svc.outward import Answer
from tests.support.tables import beside, table

ID = "5f0c1a52-9d1e-4c0b-8f0e-2f6f0a3c7b11"
HEAD = ("developer", "id", "note")
ROW = ("kim@example.org", ID, "a long note that goes on and on, far beyond the last column of a terminal [/b]")


@pytest.mark.parametrize(("columns", "terminal"), [(80, True), (200, True), (80, False), (20, False)])
def test_no_field_is_ever_cut_or_broken(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], columns: int, terminal: bool
) -> None:
    """Each can be copied as a whole, brackets in it too; on a narrow terminal a record is a list."""
    for name, value in {"COLUMNS": columns, "TTY_COMPATIBLE": int(terminal), "NO_COLOR": 1}.items():
        monkeypatch.setenv(name, str(value))
    monkeypatch.setattr("sys.stdout.isatty", lambda: terminal)
    show_table(HEAD, [ROW])
    out = capsys.readouterr().out
    assert all(field in out for field in ROW)
    assert ("│" in out) is not (terminal and columns == 80)


def test_fields_without_a_value_are_left_out(capsys: pytest.CaptureFixture[str]) -> None:
    show_fields([("name", "Kim"), ("left", ""), ("language", "ko")])
    assert capsys.readouterr().out == "name      Kim\nlanguage  ko\n"


@beside()
def test_a_field_is_shown_as_a_person_reads_it(field: str, value: object, shown: str) -> None:
    assert cell({field: value, "developer_id": ID}, field, {ID: "Kim"}) == shown


KIM, ANA, SECOND = {ID: "Kim"}, {str(uuid4()): "ana@example.org"}, {str(uuid4()): "Kim"}


def test_a_person_is_found_by_id_or_name() -> None:
    """An e-mail address is a name like any other; the only one need not be named."""
    assert {chosen("developer", KIM | ANA, named) for named in (ID, ID.upper(), "Kim", "kim")} == {ID}
    assert {chosen("developer", KIM | ANA, "Ana@example.org")} == set(ANA)
    assert chosen("developer", KIM | SECOND, ID) == chosen("developer", KIM, None) == ID


@pytest.mark.parametrize(
    ("names", "named", "told"),
    [
        (KIM | ANA, "Bo", "there is no developer 'Bo'; there is Kim, ana@example.org (`svc developer list`"),
        (KIM | SECOND, "Kim", f"2 developers are called 'Kim'; use the id: {', '.join(map(str, KIM | SECOND))}"),
        (KIM | ANA, None, "say which one (--developer), by its name or id: Kim, ana@example.org"),
        ({str(number): f"n{number}" for number in range(12)}, "Bo", "n9 and 2 more"),
        ({}, "Bo", "there is none"),
    ],
)
def test_who_is_not_found_is_said_with_whom_there_is(names: dict[str, str], named: str | None, told: str) -> None:
    with pytest.raises(NotFound) as error:
        chosen("developer", names, named)
    assert told in str(error.value)


@pytest.mark.parametrize("agent", ["claude-code", "codex", "gemini"])
def test_an_import_of_a_folder_that_is_not_there_says_where_it_looked_and_what_to_do(agent: str) -> None:
    result = CliRunner().invoke(main, ["import", agent], env={"HOME": "/nowhere", "CLAUDE_CONFIG_DIR": ""})
    assert result.exit_code == 1
    assert "/nowhere/." in result.stderr
    assert f"svc connect {agent}" in result.stderr


def test_what_came_for_another_before_is_told_once_by_count(capsys: pytest.CaptureFixture[str]) -> None:
    """With all that hangs on it; what was refused for another reason stands by itself."""
    theirs = "tool_session_id belongs to another developer's agent session; nothing was stored"
    told = {"prompt of s1": theirs, "response in s1": "no prompt p1 of yours", "prompt of s2": theirs}
    refused = [Refusal("a.jsonl", what, message) for what, message in {**told, "prompt of s3": "too long"}.items()]
    importing._show(ImportReport(files=1, refused=refused))
    lines = [line for line in capsys.readouterr().out.splitlines() if line.startswith("refused:")]
    assert lines == [
        "refused: 3 parts of 2 sessions that came for another developer before. "
        "A session cannot move; --developer says whose it is.",
        "refused: a.jsonl, prompt of s3: too long",
    ]


HOSTILE = "a\x1b]0;owned\x07\x9b31m\u202eb\u2066c\u200b\u200ed\u2028\u061c\U000e0041e\x7f\r"
UNSEEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2066-\u2069\U000e0041]")


def hostile_goal(text: str) -> dict[str, Any]:
    """Whatever of it was made of somebody's words."""
    told = {"score_v3_sub_session_id": ID, "started_at": "2026-01-05T09:30:00Z", "outcome": "reached"}
    said = {"title": text, "summary": text, "title_source": "rubric", "project": {"key": "k", "name": text}}
    return {
        **told,
        **said,
        "intent_class": "feature",
        "kind_told": None,
        "grade_told": None,
        "cost_usd": None,
        "cost_kind": None,
    }


def hostile_import(text: str) -> ImportReport:
    return ImportReport(files=1, torn=[TornLine(text, 1, text)], refused=[Refusal(text, f"prompt of {text}", text)])


def test_a_template_shows_what_looks_like_markup_as_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    importing._show(hostile_import("[red]a[/red] [/b]"))
    assert "torn: [red]a[/red] [/b], line 1: [red]a[/red] [/b]" in capsys.readouterr().out


@table(
    "show",
    {
        "a table, its head and its title": lambda text: show_table((text, text), [(text, text)], text),
        "fields": lambda text: show_fields([(text, text)]),
        "a list of goals": lambda text: show_goals([hostile_goal(text)], UTC, "cost"),
        "a template": lambda text: importing._show(hostile_import(text)),
        "a sentence": say,
        "JSON": print_json,
    },
)
def test_nothing_shown_steers_a_terminal(show: Callable[[str], None], capsys: pytest.CaptureFixture[str]) -> None:
    """JSON keeps its value: what would steer is escaped, not lost."""
    show(HOSTILE)
    out = capsys.readouterr().out
    assert out.count("owned") >= 1
    assert UNSEEN.search(out) is None
    assert show is not print_json or json.loads(out) == HOSTILE


TYPED = ["import", "claude-code", HOSTILE], ["grade", HOSTILE], [HOSTILE], ["restore", *[HOSTILE] * 2]


@pytest.mark.parametrize("args", [*TYPED, ["status", "--var", HOSTILE]])
def test_an_error_does_not_steer_a_terminal(args: list[str]) -> None:
    """It quotes what was typed, the name of a file for instance."""
    told = CliRunner().invoke(main, args)
    assert told.exit_code != 0
    assert UNSEEN.search(told.output) is None


def test_commands_write_in_these_ways_only() -> None:
    """Every other way to a terminal would let characters through."""
    ways = re.compile(r"click\.echo\(|(?<!\w)Console\(|(?<![\w.])print\(|\.stdout\.write\(")
    sources = {path.name: path.read_text(encoding="utf-8") for path in Path(cli.__file__).parent.glob("*.py")}
    found = {name: len(ways.findall(text)) for name, text in sources.items() if ways.search(text)}
    # `say` and `print_json` themselves; what children tell their parents; a fixed line beside what an agent reads
    assert found == {"common.py": 2, "replaying.py": 1, "scoring.py": 1}


# --- what a running server answers ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("status", "content", "said"),
    [
        (404, b'{"code": "not_found", "message": "there is no such key"}', "refused: there is no such key"),
        (503, b'{"status": "unavailable", "reason": "no prices yet"}', "refused: no prices yet"),
        (500, b'{"message": 5}', "refused: GET /v1/admin/keys is answered with 500"),
        (403, b"", "refused: GET /v1/admin/keys is answered with 403"),
    ],
)
def test_an_error_is_said_in_its_own_words(
    monkeypatch: pytest.MonkeyPatch, status: int, content: bytes, said: str
) -> None:
    monkeypatch.setattr(time, "sleep", lambda _: None)
    with pytest.raises(NotReached, match=f"^{said}$"):
        Access(lambda *_, **_more: Answer(status, content, {}), "").admin("GET", "/v1/admin/keys")


def test_a_server_that_stays_busy_is_left_alone_in_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """After some tries, within a minute or so."""
    asked, waited = [], list[float]()
    monkeypatch.setattr(time, "sleep", waited.append)

    def busy(*request: object, **_more: object) -> Answer:
        asked.append(request)
        return Answer(503, b'{"message": "too much is waiting"}', {})

    with pytest.raises(NotReached, match="refused: too much is waiting"):
        Access(busy, "").admin("GET", "/v1/admin/keys")
    assert len(asked) == BUSY_TRIES
    assert 30 < sum(waited) < 90
