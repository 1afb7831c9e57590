"""Commands as a person types them."""

import json
import socket
from pathlib import Path

import click
import msgspec
import pytest
from click.testing import CliRunner

from svc.cli import main
from tests.support.process import init, serving, svc
from tests.support.transcripts import said, user

PROMPT = "Fix the crash in src/parser.py when the input is empty: return an empty list. Run pytest before you stop."


def run(*arguments: str, stdin: str | None = None) -> str:
    """Run a command that must succeed; what it prints."""
    result = CliRunner().invoke(main, arguments, input=stdin)
    assert result.exit_code == 0, result.output
    return result.stdout


def _commands(command: click.Command, path: tuple[str, ...]) -> list[tuple[str, ...]]:
    """Every group and every command."""
    if not isinstance(command, click.Group):
        return [path]
    context = click.Context(command)
    found = {name: command.get_command(context, name) for name in command.list_commands(context)}
    return [path, *(each for name, sub in found.items() if sub is not None for each in _commands(sub, (*path, name)))]


HELP_COLUMNS = 80


@pytest.mark.parametrize("path", _commands(main, ()), ids=" ".join)
def test_help_says_what_each_command_does_and_shows_one_way_to_type_it(path: tuple[str, ...]) -> None:
    """It fits a narrow terminal; the example stands in a line of its own, which can be copied."""
    lines = run(*path, "--help").splitlines()
    assert max(map(len, lines)) <= HELP_COLUMNS
    heading = "Commands:" if path else "Your work:"
    is_group = heading in lines
    assert is_group or [line for line in lines if line.startswith("  Example: ")]
    assert not is_group or "..." not in "".join(lines[lines.index(heading) :])


def test_grade_reads_standard_input_or_a_file_and_quotes_what_it_found(tmp_path: Path) -> None:
    """JSON for scripts; for a person a sentence with how sure it is, and the words that earned a habit."""
    graded = json.loads(run("grade", "--json", stdin=PROMPT))
    assert (graded["status"], graded["score"] > 50) == ("ok", True)
    concrete = next(habit for habit in graded["habits"] if habit["boolean"] == "references_concrete")
    assert (concrete["earned"], concrete["quoted"]) == (True, "src/parser.py")
    assert all(habit["why"] for habit in graded["habits"])
    (tmp_path / "prompt.txt").write_text(PROMPT)
    shown = run("grade", str(tmp_path / "prompt.txt"))
    assert ("It surely shows" in shown, "src/parser.py" in shown) == (True, True)


@pytest.mark.parametrize(
    ("given", "code", "said"), [("", 1, "no prompt"), ("   \n", 1, "no prompt"), (bytes(range(256)), 0, "")]
)
def test_grade_of_nothing_says_so_and_bytes_that_are_no_text_break_nothing(
    given: str | bytes, code: int, said: str
) -> None:
    result = CliRunner().invoke(main, ["grade"], input=given)
    assert (result.exit_code, said in result.stderr) == (code, True)


@pytest.mark.process
def test_importing_under_a_running_server_and_again_without_it(tmp_path: Path) -> None:
    """Both ways reach the same log; the second time everything is known."""
    made = init(tmp_path / "var")
    folder = tmp_path / "projects"
    folder.mkdir()
    lines = (
        user("u1", 0, PROMPT),
        said("a1", 20, "Done, all tests pass.", stop_reason="end_turn"),
        user("u2", 120, "thanks, now add a changelog entry"),
    )
    (folder / "session.jsonl").write_text("".join(json.dumps(each) + "\n" for each in lines) + "{torn\n")
    arguments = ("import", "claude-code", folder, "--var", tmp_path / "var", "--json")
    with serving(tmp_path / "var", made["key"]) as server:
        done = svc(*arguments)
        assert "For Owner; --developer names another" in done.stderr
        assert "opens the pages" in done.stderr
        first = msgspec.json.decode(done.stdout)
        assert (first["prompts"], first["known"], len(first["torn"])) == (2, 0, 1)
        assert len(server.api.get("/v1/score_v3/realtime/sub-sessions").json()) >= 1
        assert server.stop() == 0
    second = msgspec.json.decode(svc(*arguments).stdout)
    assert (second["created"], second["known"]) == (0, first["created"])


@pytest.mark.process
def test_a_start_that_cannot_be_is_one_sentence_that_says_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A port that is taken, a file where the folder should be, a certificate that is not there or is none, no data."""
    plain = tmp_path / "plain"
    plain.write_text("no folder, no certificate")
    free = ("--intake", "127.0.0.1:0", "--api", "127.0.0.1:0")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        busy = f"127.0.0.1:{taken.getsockname()[1]}"
        cases = (
            (("--var", "a", "--intake", "127.0.0.1:0", "--api", busy), f"cannot listen on {busy}"),
            (("--var", "plain", *free), "choose another with --var"),
            (("--var", "plain/sub", *free), "choose another with --var"),
            (("--var", "b", *free, "--tls-certificate", "none", "--tls-key", "none"), "no file none"),
            (("--var", "c", *free, "--tls-certificate", "plain", "--tls-key", "plain"), "cannot be used together"),
        )
        monkeypatch.chdir(tmp_path)
        for arguments, sentence in cases:
            done = svc("serve", *arguments, check=False)
            assert (done.returncode, sentence in done.stderr, "Traceback" in done.stderr) == (1, True, False)
        done = svc("key", "list", "--var", "none", check=False)
        assert (done.returncode, "svc init" in done.stderr) == (1, True)
