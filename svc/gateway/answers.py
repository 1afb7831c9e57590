"""What comes back: an answer that fits its schema, or none."""

from typing import Any, Generic, TypeVar

import msgspec

from svc.gateway.bounds import ANSWER_BYTES_MAX

T = TypeVar("T")

OFF = "off"
WITHHELD = "withheld"
BUDGET = "budget"
RESTING = "resting"
TOO_LARGE = "too-large"
TIMEOUT = "timeout"
UNREACHABLE = "unreachable"
OVERLOADED = "overloaded"
FAILING = "failing"
REFUSED = "refused"
UNREADABLE = "unreadable"
MISFIT = "misfit"


class NoAnswer(Exception):
    """There is none; `reason` is one of the words above, never anything that the other side said."""

    def __init__(self, reason: str) -> None:
        self.reason = reason
        super().__init__(f"the text model gave no answer: {reason}")


class Answer(msgspec.Struct, Generic[T], frozen=True):
    """An answer that fits."""

    value: T
    model: str
    version: int
    """Of the prompt text."""
    input_tokens: int
    output_tokens: int


class _Message(msgspec.Struct):
    content: str | None = None


class _Choice(msgspec.Struct):
    message: _Message
    finish_reason: str | None = None


class Usage(msgspec.Struct):
    """As the endpoint counted; None where it does not."""

    prompt_tokens: int | None = None
    completion_tokens: int | None = None


class Completion(msgspec.Struct):
    """The part of a chat completion that is looked at."""

    choices: list[_Choice] = []
    usage: Usage | None = None

    @property
    def text(self) -> str:
        """What the model wrote; empty where it wrote nothing, or was cut off."""
        if not self.choices or self.choices[0].finish_reason == "length":
            return ""
        return self.choices[0].message.content or ""


def completion_of(body: bytes) -> Completion:
    """The body of a response. Raises `NoAnswer`."""
    if len(body) > ANSWER_BYTES_MAX:
        raise NoAnswer(TOO_LARGE)
    try:
        return msgspec.json.decode(body, type=Completion)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise NoAnswer(UNREADABLE) from error


def fitting(text: str, schema: type[T]) -> T:
    """The one JSON document in the text, where it fits. Raises `NoAnswer`."""
    try:
        return msgspec.json.decode(_unfenced(text), type=schema)
    except msgspec.ValidationError as error:
        raise NoAnswer(MISFIT) from error
    except (msgspec.DecodeError, UnicodeError) as error:
        raise NoAnswer(UNREADABLE) from error


def schema_document(schema: type[Any]) -> dict[str, Any]:
    """The JSON schema of a class, as an object of its own: not every endpoint follows a reference at the top."""
    _, parts = msgspec.json.schema_components((schema,), ref_template="#/$defs/{name}")
    top = parts.pop(schema.__name__)
    return {**top, "$defs": parts} if parts else top


def _unfenced(text: str) -> str:
    """Models of modest size like to put their JSON into a fence."""
    text = text.strip()
    if text.startswith("```") and text.endswith("```"):
        return text[3:-3].removeprefix("json").strip()
    return text
