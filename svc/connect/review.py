"""One's own agent as judge: what is open is asked of its program one by one, and the server believes an answer or not.

`headless.toml` says how a program is run so that it only answers; its own `--help`, whether that still holds.
"""

import contextlib
import fcntl
import json
import os
import re
import shutil
import signal
import subprocess
import time
import tomllib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from pkgutil import get_data
from typing import Any, NamedTuple

import msgspec

from aggregates import REVIEW_MARK
from svc.connect.agents import AgentName, folder_of
from svc.connect.changes import Refused
from svc.connect.connections import NotAnswered, Server, all_stored, decoded, said, stored
from svc.hook import machine
from svc.templates import filled, found
from svc_http.records import QUESTIONS_MAX, AnswersTaken, OpenQuestion, OpenQuestions

DAILY_TOKENS = 200_000
SERVER_SECONDS, ANSWER_SECONDS, HELP_SECONDS = 60.0, 120.0, 30.0
ANSWERS = "/v1/judge/answers"
Progress = Callable[[int, int], None]
REFUSED_MAX = 3  # of a question in a day, and of answers in a row: then nothing is to be hoped of this model
CHARACTERS_PER_TOKEN_MIN = 2  # rather too many tokens than too few, until their number is known
OVERHEAD_TOKENS = 8_000  # of a program's own instructions, where it says nothing of them
SAID_CHARACTERS_MAX = 200


class Program(msgspec.Struct, frozen=True):
    program: str
    help: list[str]
    needs: list[str]
    command: list[str]
    choose: list[str]
    answer: list[str]
    input: list[str] = []
    output: list[str] = []
    model: str | None = None
    files: dict[str, str] = {}
    variables: dict[str, str] = {}
    words: str = ""


class _Rules(msgspec.Struct, frozen=True):
    without: str
    complaining: list[str]
    complaints: list[tuple[str, str]]
    loose: list[str]
    provider: list[str]
    consent: str
    programs: dict[AgentName, Program]


RULES = msgspec.toml.decode(get_data(__name__, "headless.toml") or b"", type=_Rules)


def tokens_at_most(question: OpenQuestion) -> int:
    """About so many, until it is known."""
    return len(question.text) // CHARACTERS_PER_TOKEN_MIN + OVERHEAD_TOKENS


class Reply(NamedTuple):
    answer: str = ""
    failure: str | None = None  # why there is no answer
    tokens: tuple[int, int] | None = None  # None where nobody knows how many
    ends: bool = False  # whether no further question would fare better


class Spent(msgspec.Struct):
    """Of the developer's own day, kept on this machine."""

    day: str
    tokens: int = 0
    refused: dict[str, int] = {}  # how often an answer to a question was
    failure: str | None = None  # of the last run

    @staticmethod
    def today() -> "Spent":
        day = time.strftime("%Y-%m-%d")
        try:
            found = msgspec.json.decode((machine.state_folder() / "review.json").read_bytes(), type=Spent)
        except (OSError, msgspec.DecodeError):
            return Spent(day)
        return found if found.day >= day else Spent(day)  # a clock that jumps back gives no second budget

    def keep(self) -> None:
        machine.replace_file(machine.state_folder() / "review.json", msgspec.json.encode(self))


class Report(msgspec.Struct):
    agent: str
    model: str
    answered: int = 0
    refused: int = 0
    tokens: int = 0
    stopped: str | None = None  # why it did not go on


class Judge:
    """An agent's program. Raises `Refused` where it is not installed."""

    def __init__(self, agent: AgentName, model: str | None) -> None:
        self.agent, self._known = agent, RULES.programs[agent]
        self._path = shutil.which(self._known.program) or ""
        if not self._path:
            raise Refused(f"{self._known.program} is not installed, or not on the PATH")
        own = codex_settings() if agent == "codex" else {}
        self._settings = [each for name, value in own.items() for each in ("-c", f"{name}={json.dumps(value)}")]
        chosen = model or self._known.model
        self._settings += [each.replace("{model}", chosen) for each in self._known.choose] if chosen else []
        self.model = re.sub(r"[^\w.:/@-]", "-", str(chosen or own.get("model") or "default"))[:128]
        self.folder, keys = machine.state_folder() / REVIEW_MARK, {each.key for each in all_stored()}
        kept = {name: text for name, text in os.environ.items() if not re.match(RULES.without, name)}
        kept = {name: text for name, text in kept.items() if not any(key in text for key in keys)}
        self._environment = kept | self._known.variables

    def check(self) -> None:
        """Raises `Refused` where the program lacks what is relied on."""
        machine.private_folder(self.folder)
        code, *told = self._ran(self._known.help, "", HELP_SECONDS) or (1, "")
        if lacking := [each for each in self._known.needs if code or not re.search(rf"{each}\b", "".join(told))]:
            what = f"{self._known.program} knows no {', '.join(lacking)}"
            raise Refused(f"{what}: its tools and hooks cannot be switched off; upgrade it")

    def ask(self, question: OpenQuestion) -> Reply:
        shutil.rmtree(self.folder, ignore_errors=True)
        machine.private_folder(self.folder)
        put = {"instructions": question.instructions, "schema": json.dumps(strict(question.schema))}
        put |= {"folder": str(self.folder), "mark": REVIEW_MARK}
        for name, text in filled(self._known.files, put).items():
            (self.folder / name).parent.mkdir(exist_ok=True)
            (self.folder / name).write_text(text)
        first, *others = filled(self._known.command, put)
        apart = "{instructions}" in self._known.command
        asked = question.text.removeprefix(question.instructions).strip() if apart else question.text
        text = f"{REVIEW_MARK}\n\n{asked}"
        done = self._ran([first, *self._settings, *others], text, ANSWER_SECONDS)
        if done is not None:
            return self._read(*done)
        why = f"gave no answer within {ANSWER_SECONDS:.0f} s: it may wait for a permission or a sign-in"
        return Reply(failure=f"{self._known.program} {why}", ends=True)

    def _read(self, code: int, out: str, err: str) -> Reply:
        documents = list(_documents(out))
        answer = next((each[-1] for path in self._known.answer if (each := found(documents, [path]))), None)
        counts = (found(documents, self._known.input), found(documents, self._known.output))
        read, written = (sum(each for each in count if isinstance(each, int)) for count in counts)
        if code == 0 and answer is not None and True not in found(documents, ["is_error"]):
            text = answer if isinstance(answer, str) else json.dumps(answer)
            return Reply(text, tokens=(read, written) if read or written else None)
        words = map(str, found(documents, RULES.complaining)) if documents else out.splitlines()
        told = [each.strip() for each in (*err.splitlines(), *words) if each.strip()] or ["it said nothing"]
        known = (why for pattern, why in RULES.complaints if re.search(pattern, "\n".join(told), re.IGNORECASE))
        if why := next(known, None):
            return Reply(failure=f"{self._known.program} {why}", tokens=(read, written), ends=True)
        why = f"ended with {code} and no answer: {told[-1][:SAID_CHARACTERS_MAX]}"
        return Reply(failure=f"{self._known.program} {why}", tokens=(read, written))

    def _ran(self, arguments: Sequence[str], text: str, seconds: float) -> tuple[int, str, str] | None:
        """Its exit code and what it printed; None where that takes too long. Nothing that it started goes on."""
        pipes: dict[str, Any] = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
        how: dict[str, Any] = {"encoding": "utf-8", "errors": "replace", "start_new_session": True, **pipes}
        child = subprocess.Popen([self._path, *arguments], cwd=self.folder, env=self._environment, **how)
        try:
            out, err = child.communicate(text, seconds)
            return child.returncode, out, err
        except subprocess.TimeoutExpired:
            return None
        finally:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(child.pid, signal.SIGKILL)
            child.communicate()


def strict(schema: Any) -> Any:
    """The same shape in the words that every maker of models takes: all is required, and may be null where it may."""
    if isinstance(schema, list):
        return [strict(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    kept = {name: strict(each) for name, each in schema.items() if name not in RULES.loose}
    kept |= {"required": list(kept["properties"])} if "properties" in kept else {}
    return kept | ({"type": "string"} if "enum" in kept else {})


def _documents(text: str) -> Iterator[Any]:
    """One JSON document, or one a line; what is none is not looked at."""
    for each in [text, *text.splitlines()]:
        with contextlib.suppress(ValueError):
            yield json.loads(each)
            if each is text:
                return


def codex_settings() -> dict[str, str | bool]:
    """The model and its provider, which a run without the user's settings would not know."""
    try:
        told = tomllib.loads((folder_of("codex", "user", Path.cwd()) / "config.toml").read_text())
    except (OSError, ValueError):
        return {}
    provider = told.get("model_provider")
    known = (told.get("model_providers") or {}).get(provider) or {}
    put = {name: told.get(name) for name in ("model", "model_provider")}
    put |= {f"model_providers.{provider}.{name}": known.get(name) for name in RULES.provider}
    return {name: value for name, value in put.items() if isinstance(value, str | bool)}


def questions(server: Server) -> list[OpenQuestion]:
    """Raises `NotAnswered`, `KeyRefused`, `Refused`."""
    path = f"/v1/judge/questions?limit={QUESTIONS_MAX}"
    answer = server.asked("GET", path, seconds=SERVER_SECONDS)
    if answer.status == 404:
        raise NotAnswered(f"{server.url} hands out no questions: it is an older svc, or not the API; see --api")
    if answer.status == 403:
        raise Refused(said(answer))
    return decoded(server.url, answer, path, OpenQuestions, "the API").questions


def review(server: Server, name: str, judge: Judge, limit: int, budget: int, progress: Progress) -> Report:
    """Ask what is open, newest first, while the connection of this name stands; each answer is kept at once."""
    machine.private_folder(machine.state_folder())
    with open(machine.state_folder() / "review.lock", "a") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise Refused("another `svc review` runs on this machine") from None
        report, spent = Report(judge.agent, judge.model), Spent.today()
        open_now = [each for each in questions(server) if spent.refused.get(each.question_id, 0) < REFUSED_MAX][:limit]
        if open_now:
            judge.check()
        in_a_row = 0
        for number, question in enumerate(open_now):
            progress(number, len(open_now))
            spent = Spent.today()
            if stored(name) is None:
                report.stopped = f"{name} was disconnected"
            elif spent.tokens + tokens_at_most(question) > budget:
                report.stopped = f"the day's budget of {budget:,} tokens is used up; it goes on tomorrow"
            elif in_a_row >= REFUSED_MAX:
                report.stopped = f"{in_a_row} answers in a row were refused: {spent.failure}"
            else:
                in_a_row = 0 if _asked(server, judge, question, spent, report) else in_a_row + 1
            if report.stopped is not None:
                break
        spent.failure = report.stopped or (spent.failure if report.refused else None)
        spent.keep()
        return report


def _asked(server: Server, judge: Judge, question: OpenQuestion, spent: Spent, report: Report) -> bool:
    """Whether the server took the answer, or had one already. Raises as `questions`."""
    reserved = tokens_at_most(question)
    spent.tokens += reserved  # whatever becomes of this process, it is not asked for nothing
    spent.keep()
    reply = judge.ask(question)
    used, failure = reserved if reply.tokens is None else sum(reply.tokens), reply.failure
    spent.tokens += used - reserved
    report.tokens += used
    spent.keep()
    if failure is None:
        read, written = reply.tokens or (0, 0)
        told = {"question_id": question.question_id, "answer": reply.answer, "agent": judge.agent, "model": judge.model}
        body = {"answers": [{**told, "input_tokens": read, "output_tokens": written}]}
        answer = server.asked("POST", ANSWERS, body, SERVER_SECONDS)
        if answer.status == 403:
            raise Refused(said(answer))
        if answer.status == 400:
            failure = said(answer)
        else:
            taken = decoded(server.url, answer, ANSWERS, AnswersTaken, "the API")
            failure = next((each.why for each in taken.refused if each.is_open), None)
    report.answered += failure is None
    report.stopped = failure if reply.ends else None
    spent.failure = failure or spent.failure
    if failure is not None and (used or not reply.ends):
        report.refused += 1
        spent.refused[question.question_id] = spent.refused.get(question.question_id, 0) + 1
    spent.keep()
    return failure is None
