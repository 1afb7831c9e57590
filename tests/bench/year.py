"""A year of one person's Claude Code sessions, and how fast `svc import` takes it into a running server. A prompt leads
to four tool calls whose results are long, and stand in their line twice, as the agent writes them."""

import random
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import UUID

import click
import msgspec
from rich.progress import track

from tests.support.process import ROOT
from tests.support.work import prompt_text

PROMPTS, STEPS = 10, 4  # of a session
DAY_SECONDS = 86_400
TOOLS = ("Read", "Bash", "Edit", "Grep")
MODEL = "claude-opus-4-6"


class Session:
    """The lines of one session; ids and texts come from its number."""

    def __init__(self, number: int, began: float, result_characters: float, words: str) -> None:
        self._random, self._words = random.Random(number), words
        self._characters, self.seconds = result_characters, began
        self.id = str(UUID(int=self._random.getrandbits(128), version=4))

    def lines(self) -> Iterator[dict[str, Any]]:
        yield self._line("progress", data={"type": "hook_progress", "hookEvent": "SessionStart", "hookName": "x"})
        for number in range(PROMPTS):
            asked = prompt_text(self._random.randrange(16), number, self._random.randrange(60, 900))
            prompt = {"promptId": self._id()}
            yield {"type": "file-history-snapshot", "messageId": self._id(), "snapshot": {"trackedFileBackups": {}}}
            yield self._line("user", message={"role": "user", "content": asked}, **prompt)
            for step in range(STEPS):
                yield from self._step(TOOLS[(number + step) % len(TOOLS)], prompt)
            yield self._said(
                self._id(),
                {"type": "text", "text": "All tests pass now. " + prompt_text(7, self._random.randrange(999), 400)},
                "end_turn",
            )
            yield self._line("system", subtype="turn_duration", durationMs=53_394)
            self.seconds += self._random.expovariate(1 / 240)

    def _step(self, tool: str, prompt: dict[str, str]) -> Iterator[dict[str, Any]]:
        message, call = self._id(), f"toolu_{self._id()}"
        thought = {"type": "thinking", "thinking": self._text(700), "signature": self._random.randbytes(500).hex()}
        yield self._said(message, thought)
        text = self._text(int(self._random.expovariate(1 / self._characters)) + 20)
        file = f"/home/ana/shop/src/part_{self._random.randrange(90)}.py"
        given: dict[str, Any] = {"file_path": file}
        result: dict[str, Any] = {"file": {**given, "content": text, "numLines": text.count("\n")}, "type": "text"}
        match tool:
            case "Bash":
                given = {"command": f"cd /home/ana/shop && pytest -q {file}", "description": "Runs the tests"}
                result = {"stdout": text, "stderr": "", "interrupted": False, "isImage": False}
            case "Edit":
                old, new = self._text(300), self._text(400)
                patch = {"oldStart": 9, "newStart": 9, "lines": [f"-{each}" for each in old.split("\n")]}
                given |= {"old_string": old, "new_string": new, "replace_all": False}
                result = {"filePath": file, "originalFile": text + text, "structuredPatch": [patch], "oldString": old}
                text = f"The file {file} has been updated."
            case "Grep":
                given, result = {"pattern": "total", "path": "/home/ana/shop"}, {"mode": "content", "content": text}
        yield self._said(message, {"type": "tool_use", "id": call, "name": tool, "input": given})
        if tool == "Bash":
            yield self._line("progress", data={"type": "bash_progress", "output": text[:200], "totalLines": 9})
        block = {"tool_use_id": call, "type": "tool_result", "content": text, "is_error": False}
        yield self._line("user", message={"role": "user", "content": [block]}, toolUseResult=result, **prompt)

    def _said(self, message: str, block: dict[str, Any], stop: str | None = None) -> dict[str, Any]:
        written = self._random.randrange(9_000)
        lasting = {"ephemeral_5m_input_tokens": written, "ephemeral_1h_input_tokens": 0}
        usage = {
            **{"input_tokens": 10, "output_tokens": self._random.randrange(2_000), "service_tier": "standard"},
            **{"cache_creation_input_tokens": written, "cache_read_input_tokens": 31_474, "cache_creation": lasting},
        }
        told = {
            **{"id": f"msg_{message}", "type": "message", "role": "assistant", "model": MODEL, "content": [block]},
            **{"stop_reason": stop, "stop_sequence": None, "usage": usage},
        }
        return self._line("assistant", message=told, requestId=f"req_{message}")

    def _line(self, kind: str, **fields: Any) -> dict[str, Any]:
        self.seconds += self._random.expovariate(1 / 6)
        at = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(self.seconds)) + ".250Z"
        same = {"parentUuid": self._id(), "isSidechain": False, "userType": "external", "cwd": "/home/ana/shop"}
        same |= {"sessionId": self.id, "version": "2.1.37", "gitBranch": "main", "uuid": self._id(), "timestamp": at}
        return {**same, "type": kind, **fields}

    def _id(self) -> str:
        return str(UUID(int=self._random.getrandbits(128), version=4))

    def _text(self, characters: int) -> str:
        start = self._random.randrange(len(self._words) // 2)
        return (
            (self._words[start:] + self._words)[:characters] if characters > 1_000 else self._words[start:][:characters]
        )


def write_year(folder: Path, sessions: int, megabytes: int) -> None:
    """A file for each session, the last of which ends about now; the ids do not sort by time."""
    words = "".join(file.read_text() for file in sorted((ROOT / "projections").rglob("*.py")))
    characters = max(0, megabytes - sessions / 4) * 1_000_000 / (sessions * PROMPTS * STEPS) / 1.85
    folder.mkdir(parents=True, exist_ok=True)
    for number in track(range(sessions), f"writing {megabytes} MB", transient=True):
        began = time.time() - (sessions - number) * 365 * DAY_SECONDS / sessions
        session = Session(number, began, characters, words)
        lines = b"".join(msgspec.json.encode(line) + b"\n" for line in session.lines())
        (folder / f"{session.id}.jsonl").write_bytes(lines)


@click.command()
@click.option("--sessions", default=600, show_default=True)
@click.option("--megabytes", default=500, show_default=True)
@click.option("--into", type=click.Path(path_type=Path), help="Write the sessions there, and import nothing.")
def main(sessions: int, megabytes: int, into: Path | None) -> None:
    if into:
        write_year(into, sessions, megabytes)


if __name__ == "__main__":
    main()
