"""How an API of text models has a question, and how its answer reads: OpenAI's, which many speak, and Anthropic's."""

from collections.abc import Callable
from typing import Any, NamedTuple

import msgspec

ANSWER_TOKENS_MAX = 800  # a narrative of 1,200 characters of Korean takes about as many
VERSION_OF_ANTHROPIC = "2023-06-01"


class Question(NamedTuple):
    model: str
    instructions: str
    data: str
    kind: str
    schema: dict[str, Any]

    @property
    def characters(self) -> int:
        return len(self.instructions) + len(self.data)


class Completion(NamedTuple):
    text: str  # empty where it was cut off
    tokens: tuple[int, int] | None = None  # in and out, where they were told


class Form(NamedTuple):
    path: str  # below the base address
    headers: Callable[[str], dict[str, str]]  # for a key
    shaped: Callable[[Question], dict[str, Any]]  # asks for an answer of the schema
    plain: Callable[[Question], dict[str, Any]]  # for what does not understand that
    read: Callable[[bytes], Completion]  # raises msgspec.DecodeError


class _Message(msgspec.Struct):
    content: str | None = None


class _Choice(msgspec.Struct):
    message: _Message
    finish_reason: str | None = None


class _Used(msgspec.Struct):
    prompt_tokens: int | None = None
    completion_tokens: int | None = None


class _Chat(msgspec.Struct):
    choices: list[_Choice] = []
    usage: _Used | None = None


def _openai(question: Question) -> dict[str, Any]:
    said = {"system": question.instructions, "user": question.data}
    return {"model": question.model, "messages": [{"role": role, "content": text} for role, text in said.items()]}


def _openai_shaped(question: Question) -> dict[str, Any]:
    form = {"type": "json_schema", "json_schema": {"name": question.kind, "schema": question.schema}}
    return _openai(question) | {"max_completion_tokens": ANSWER_TOKENS_MAX, "response_format": form}


def _read_openai(body: bytes) -> Completion:
    chat = msgspec.json.decode(body, type=_Chat)
    used, whole = chat.usage, chat.choices and chat.choices[0].finish_reason != "length"
    tokens = None
    if used is not None and used.prompt_tokens is not None:
        tokens = max(used.prompt_tokens, 0), max(used.completion_tokens or 0, 0)
    return Completion((chat.choices[0].message.content or "") if whole else "", tokens)


class _Part(msgspec.Struct):
    type: str
    text: str = ""
    input: msgspec.Raw = msgspec.Raw(b"")


class _Counted(msgspec.Struct):
    """Of Anthropic: what was read from or written into a cache is told beside the input."""

    input_tokens: int = 0
    output_tokens: int = 0
    cache_creation_input_tokens: int | None = None
    cache_read_input_tokens: int | None = None


class _Parts(msgspec.Struct):
    content: list[_Part] = []
    stop_reason: str | None = None
    usage: _Counted | None = None


def _anthropic(question: Question) -> dict[str, Any]:
    messages = [{"role": "user", "content": question.data}]
    asked = {"model": question.model, "max_tokens": ANSWER_TOKENS_MAX, "system": question.instructions}
    return {**asked, "messages": messages}


def _anthropic_shaped(question: Question) -> dict[str, Any]:
    """By a tool that takes the answer, which every version of the API knows."""
    tool = {"name": question.kind, "description": "Takes the answer.", "input_schema": question.schema}
    return _anthropic(question) | {"tools": [tool], "tool_choice": {"type": "tool", "name": question.kind}}


def _read_anthropic(body: bytes) -> Completion:
    told = msgspec.json.decode(body, type=_Parts)
    parts = [bytes(each.input).decode() if each.type == "tool_use" else each.text for each in told.content]
    used, tokens = told.usage, None
    if used is not None:
        cached = (used.cache_creation_input_tokens or 0) + (used.cache_read_input_tokens or 0)
        tokens = max(used.input_tokens + cached, 0), max(used.output_tokens, 0)
    return Completion("" if told.stop_reason == "max_tokens" else "".join(parts), tokens)


FORMS = {
    "openai": Form(
        "/chat/completions",
        lambda key: {"Authorization": f"Bearer {key}"},
        _openai_shaped,
        lambda question: _openai(question) | {"max_tokens": ANSWER_TOKENS_MAX, "temperature": 0},
        _read_openai,
    ),
    "anthropic": Form(
        "/messages",
        lambda key: {"x-api-key": key, "anthropic-version": VERSION_OF_ANTHROPIC},
        _anthropic_shaped,
        _anthropic,
        _read_anthropic,
    ),
}
