"""Asking: one question to the endpoint of a text model, within every bound, or `NoAnswer`.

Tokens are reserved before a question leaves, and settled once its cost is known. Their count outlives the process.
"""

import math
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import cache
from importlib.resources import files
from pathlib import Path
from pkgutil import get_data
from typing import Any, NamedTuple, TypeVar
from uuid import UUID

import msgspec
import structlog
import trio

from aggregates.times import US_PER_DAY
from svc.llm.answers import Answer, Json, NoAnswer, fitting, leaving, schema_document
from svc.outward import Answer as HttpAnswer, TooLarge, asked
from svc.settings import Settings
from svc.templates import filled, found

CALLS_MAX = 4  # questions on their way at the same time
ATTEMPT_SECONDS = 30.0  # one attempt at an answer
RETRIES_MAX = 2  # after a 408, 409, 429 or 5xx, a broken connection or a time-out
RETRY_PAUSE_SECONDS = 0.5  # before the second attempt; twice that before the third
RETRY_WAIT_SECONDS_MAX = 60.0  # a `Retry-After` beyond it is not followed
ASK_SECONDS = 75.0  # a question with its retries and the wait for its turn
REST_SECONDS = 30.0  # nobody is asked after a failure that is not of one question alone: else every caller would wait
ANSWER_BYTES_MAX = 1024 * 1024  # of a body, error or not; a model that thinks aloud takes some 20 KiB
PAYLOAD_CHARACTERS_MAX = 24_000  # of data in one question: some 6,000 tokens of English
CHARACTERS_PER_TOKEN_MIN = 2  # to reserve tokens before their number is known: rather too many than too few
ANSWER_TOKENS_MAX = 800  # a narrative of 1,200 characters of Korean takes about as many
assert ATTEMPT_SECONDS < ASK_SECONDS, "one attempt may take its time"

log = structlog.get_logger()
T = TypeVar("T")
Count = Callable[[str, str, int], None]
_AGAIN = frozenset({408, 409, 429})  # with every 5xx: said of the moment, not of the question
_NOT_UNDERSTOOD = (400, 422)  # what an endpoint says that knows no schema of an answer
_RESTED_AFTER = frozenset({"timeout", "unreachable", "overloaded", "failing", "refused", "unreadable"})
"""Failures that the next question would most likely meet as well."""


class Question(NamedTuple):
    model: str
    instructions: str
    data: str
    kind: str
    schema: dict[str, Any]
    tokens: int = ANSWER_TOKENS_MAX

    @property
    def characters(self) -> int:
        return len(self.instructions) + len(self.data)


class Completion(NamedTuple):
    text: str  # empty where it was cut off
    tokens: tuple[int, int] | None = None  # in and out, where they were told


class Form(msgspec.Struct, frozen=True):
    """How an API of text models has a question, and how its answer reads: as `forms.toml` says."""

    path: str
    headers: dict[str, str]
    asked: dict[str, Any]
    shaped: dict[str, Any]
    plain: dict[str, Any]
    answer: list[str]
    cut: dict[str, str]
    input: list[str]
    output: list[str]

    def question(self, question: Question, *, shaped: bool) -> dict[str, Any]:
        return dict(filled(self.asked | (self.shaped if shaped else self.plain), question._asdict()))

    def read(self, body: bytes) -> Completion:
        """Raises `msgspec.DecodeError`, `UnicodeDecodeError`."""
        told = [msgspec.json.decode(body)]
        answer = next(iter(found(told, self.answer)), "")
        text = answer if isinstance(answer, str) else msgspec.json.encode(answer).decode()
        counts = (found(told, self.input), found(told, self.output))
        read, written = ([each for each in count if isinstance(each, int)] for count in counts)
        is_cut = self.cut["word"] in found(told, [self.cut["path"]])
        return Completion("" if is_cut else text, (max(0, sum(read)), max(0, sum(written))) if read else None)


FORMS = msgspec.toml.decode(get_data(__name__, "forms.toml") or b"", type=dict[str, Form])


class _Spent(msgspec.Struct):
    day: int  # days since 1970, UTC
    tokens: int = 0


class Budget:
    def __init__(self, path: Path, daily_tokens: int, now_us: Callable[[], int]) -> None:
        self._path = path
        self.daily_tokens = daily_tokens
        self._now_us = now_us
        day = now_us() // US_PER_DAY
        try:
            self._spent = msgspec.json.decode(path.read_bytes(), type=_Spent)
        except FileNotFoundError:
            self._spent = _Spent(day)
        except (OSError, msgspec.DecodeError) as error:
            log.warning("what was spent on the text model cannot be read; it rests until tomorrow", reason=str(error))
            self._spent = _Spent(day, daily_tokens)

    @property
    def spent_tokens(self) -> int:
        return self._today().tokens

    def reserve(self, tokens: int) -> int | None:
        """Take tokens from the day's budget; the day they belong to, or None where too few are left."""
        today = self._today()
        if today.tokens + tokens > self.daily_tokens:
            return None
        self._write(today.tokens + tokens)
        return today.day

    def settle(self, day: int, reserved: int, used: int) -> None:
        """Replace reserved tokens by used ones; no effect on a later day."""
        today = self._today()
        if today.day == day:
            self._write(max(today.tokens - reserved + used, 0))

    def _today(self) -> _Spent:
        day = self._now_us() // US_PER_DAY
        if day > self._spent.day:  # a clock that jumps back gives no second budget
            self._spent = _Spent(day)
        return self._spent

    def _write(self, tokens: int) -> None:
        self._spent.tokens = tokens
        draft = self._path.with_suffix(".draft")
        draft.write_bytes(msgspec.json.encode(self._spent))
        draft.replace(self._path)


class Gateway:
    """Asks the text model that the settings name, if any; for the loop's thread."""

    def __init__(self, settings: Settings, budget: Budget, may_leave: Callable[[UUID], bool], count: Count) -> None:
        self._settings = settings
        self._budget = budget
        self._may_leave = may_leave
        self._count = count
        self._turns = trio.CapacityLimiter(CALLS_MAX)
        self._form = FORMS[settings.llm_api]
        self._plain = False  # whether the endpoint refused a question that names the answer's schema
        self._rests_until = -math.inf

    @property
    def model(self) -> str | None:
        return None if self._settings.llm_url is None else self._settings.llm_model

    def may_ask(self, organization_id: UUID) -> bool:
        return self.model is not None and self._may_leave(organization_id)

    @property
    def rests(self) -> bool:
        return trio.current_time() < self._rests_until

    async def ask(
        self, organization_id: UUID, kind: str, version: int, schema: type[T], payload: Mapping[str, Json]
    ) -> Answer[T]:
        """Ask with a prompt text of this kind and version. Raises `NoAnswer`."""
        spent: list[int] = []
        try:
            model = self._checked(organization_id)
            data = msgspec.json.encode(leaving(dict(payload))).decode()
            if len(data) > PAYLOAD_CHARACTERS_MAX:
                raise NoAnswer("too-large")
            shape = schema_document(schema)
            question = Question(model, instructions(kind, version, shape), data, kind, shape)
            with trio.move_on_after(ASK_SECONDS) as asking:
                async with self._turns:
                    self._checked(organization_id)  # it may have been switched off, or begun to rest, meanwhile
                    completion = await self._paid(question, spent)
            if asking.cancelled_caught:
                raise NoAnswer("timeout")
            value = fitting(completion.text, schema)
        except NoAnswer as failure:
            self._count(kind, failure.reason, sum(spent))
            if failure.reason in _RESTED_AFTER:
                self._rests_until = trio.current_time() + REST_SECONDS
                log.warning("the text model gave no answer", kind=kind, reason=failure.reason)
            raise
        self._count(kind, "ok", sum(spent))
        return Answer(value, model, version, *(completion.tokens or (0, 0)))

    def _checked(self, organization_id: UUID) -> str:
        if self.model is None:
            raise NoAnswer("off")
        if not self._may_leave(organization_id):
            raise NoAnswer("withheld")
        if self.rests:
            raise NoAnswer("resting")
        return self.model

    async def _paid(self, question: Question, spent: list[int]) -> Completion:
        """Reserve, send, settle. A question that was sent but not answered stays reserved: it may have cost."""
        used = reserved = question.characters // CHARACTERS_PER_TOKEN_MIN + ANSWER_TOKENS_MAX
        day = self._budget.reserve(reserved)
        if day is None:
            raise NoAnswer("budget")
        try:
            completion = self._form.read(await self._sent(question))
            used = used if completion.tokens is None else sum(completion.tokens)
            return completion
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise NoAnswer("unreadable") from error
        except NoAnswer as failure:
            if failure.reason in ("unreachable", "overloaded", "refused"):
                used = 0
            raise
        finally:
            self._budget.settle(day, reserved, used)
            spent.append(used)

    async def _sent(self, question: Question) -> bytes:
        answer = await self._attempts(self._form.question(question, shaped=not self._plain))
        if answer.status in _NOT_UNDERSTOOD and not self._plain:
            answer = await self._attempts(self._form.question(question, shaped=False))
            self._plain = answer.status < 300
        if answer.status < 300:
            return answer.content
        if answer.status == 429:
            raise NoAnswer("overloaded")
        raise NoAnswer("failing" if answer.status >= 500 else "refused")

    async def _attempts(self, question: Mapping[str, Any]) -> HttpAnswer:
        """The last answer, whatever its status. Raises `NoAnswer` where there is none."""
        url = f"{(self._settings.llm_url or '').rstrip('/')}{self._form.path}"
        headers = {
            "Content-Type": "application/json",
            **filled(self._form.headers, {"key": self._settings.llm_key or "none"}),
        }
        content, pause_seconds = msgspec.json.encode(question), RETRY_PAUSE_SECONDS
        for left in reversed(range(RETRIES_MAX + 1)):
            wait_seconds = pause_seconds
            try:
                answer = await asked("POST", url, ATTEMPT_SECONDS, ANSWER_BYTES_MAX, headers=headers, content=content)
            except TooLarge as error:
                raise NoAnswer("too-large" if error.status < 300 else "refused") from error
            except OSError as error:
                if not left:
                    raise NoAnswer("timeout" if isinstance(error, TimeoutError) else "unreachable") from error
            else:
                if not left or not (answer.status in _AGAIN or answer.status >= 500):
                    return answer
                with suppress(ValueError):
                    wanted_seconds = float(answer.headers.get("Retry-After", ""))
                    if 0 < wanted_seconds <= RETRY_WAIT_SECONDS_MAX:
                        wait_seconds = wanted_seconds
            await trio.sleep(wait_seconds)
            pause_seconds *= 2
        raise AssertionError("the last attempt returns or raises")


def instructions(kind: str, version: int, shape: Json) -> str:
    """The text that a question of this kind begins with."""
    wanted = msgspec.json.encode(shape, order="sorted").decode()
    return f"{_text('framing')}\n{_text(f'{kind}.{version}')}\nSchema of the answer: {wanted}\n"


@cache
def _text(name: str) -> str:
    return files("svc.llm").joinpath("prompts", f"{name}.txt").read_text(encoding="utf-8")
