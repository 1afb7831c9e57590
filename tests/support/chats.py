"""Sessions as the Gemini CLI writes them, for tests."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from tests.support.transcripts import at

SESSION = "7b8f1c2d-1111-4222-8333-944455566677"
MODEL = "gemini-2.5-pro"
PROJECT = "c0ffee"


def message(kind: str, name: str, seconds: float, content: Any, **fields: Any) -> dict[str, Any]:
    return {"id": name, "timestamp": at(seconds), "type": kind, "content": content, **fields}


def user(name: str, seconds: float, text: Any, **fields: Any) -> dict[str, Any]:
    return message("user", name, seconds, text, **fields)


def said(name: str, seconds: float, text: str, *calls: dict[str, Any], **fields: Any) -> dict[str, Any]:
    """What the model answered, and the calls it asked for."""
    common = {"thoughts": [], "tokens": tokens(), "model": MODEL, **fields}
    return message("gemini", name, seconds, text, **common, **({"toolCalls": list(calls)} if calls else {}))


def tokens(whole: int = 1000, cached: int = 600, output: int = 40, thoughts: int = 10) -> dict[str, int]:
    total = whole + output + thoughts
    return {"input": whole, "output": output, "cached": cached, "thoughts": thoughts, "tool": 0, "total": total}


def call(call_id: str, name: str, seconds: float, status: str = "success", **args: Any) -> dict[str, Any]:
    response = {"functionResponse": {"id": call_id, "name": name, "response": {"output": args.pop("output", "ok")}}}
    display = args.pop("display", None)
    known = {"id": call_id, "name": name, "args": args, "status": status, "timestamp": at(seconds)}
    return {**known, "result": [response], "resultDisplay": display, "displayName": name}


def exchange(second: float = 0, text: str = "fix the login", number: int = 1) -> list[dict[str, Any]]:
    """A whole exchange: an edit, a check, an answer, three responses."""
    stat = {"model_added_lines": 2, "model_removed_lines": 1, "user_added_lines": 0, "user_removed_lines": 0}
    edit = {"file_path": "/home/ana/shop/login.py", "old_string": "old", "new_string": "new\nmore"}
    edited = call(f"replace-{number}", "replace", second + 2, **edit, display={"fileDiff": "", "diffStat": stat})
    failed = "Command: pytest -q\nOutput: 1 failed\nExit Code: 1"
    ran = call(f"shell-{number}", "run_shell_command", second + 5, command="pytest -q", output=failed)
    return [
        user(f"u{number}", second, [{"text": text}]),
        said(f"g{number}a", second + 1, "", edited),
        said(f"g{number}b", second + 3, "", ran),
        said(f"g{number}c", second + 6, f"Fixed {number}."),
    ]


def head(session: str = SESSION, **fields: Any) -> dict[str, Any]:
    """What is said of a session as a whole."""
    return {"sessionId": session, "projectHash": PROJECT, "startTime": at(0), "lastUpdated": at(0), **fields}


def document(messages: Iterable[dict[str, Any]], session: str = SESSION, **fields: Any) -> bytes:
    """The older form: one document."""
    return json.dumps({**head(session, **fields), "messages": list(messages)}, indent=2).encode()


def lines(*entries: dict[str, Any] | bytes, session: str = SESSION, **fields: Any) -> bytes:
    """The newer form: a head, then a line for each thing that happened."""
    told = (head(session, kind="main") | fields, *entries)
    return b"".join(each if isinstance(each, bytes) else json.dumps(each).encode() + b"\n" for each in told)


def write(folder: Path, content: bytes, name: str = "session-2026-03-02T10-00-7b8f1c2d.jsonl") -> Path:
    """A file where the agent would put it."""
    file = folder / PROJECT / "chats" / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(content)
    return file
