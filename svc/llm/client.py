"""Asking: one question to an OpenAI-compatible endpoint, within every bound, or `NoAnswer`."""

import math
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import cache
from importlib.resources import files
from typing import Any, TypeVar
from uuid import UUID

import msgspec
import structlog
import trio

from svc.llm import budget as bounds
from svc.llm.answers import Answer, Completion, Json, NoAnswer, completion_of, fitting, leaving, schema_document
from svc.llm.budget import Budget, Endpoint
from svc.outward import Answer as HttpAnswer
from svc.outward import TooLarge, asked

log = structlog.get_logger()
T = TypeVar("T")
MayLeave = Callable[[UUID], bool]
Count = Callable[[str, str, int], None]
COMPLETIONS = "/chat/completions"
_AGAIN = frozenset({408, 409, 429})  # with every 5xx: said of the moment, not of the question
_NOT_UNDERSTOOD = (400, 422)  # what an endpoint of the older form says to a question of the newer one
_RESTED_AFTER = frozenset({"timeout", "unreachable", "overloaded", "failing", "refused", "unreadable"})
"""Failures that the next question would most likely meet as well."""


class Gateway:
    """Asks a text model where one is configured; for the loop's thread."""

    def __init__(self, endpoint: Endpoint | None, budget: Budget, may_leave: MayLeave, count: Count) -> None:
        self._endpoint = endpoint
        self._budget = budget
        self._may_leave = may_leave
        self._count = count
        self._turns = trio.CapacityLimiter(bounds.CALLS_MAX)
        self._plain = False  # whether the endpoint refused the newer form of a question
        self._rests_until = -math.inf

    @property
    def model(self) -> str | None:
        return None if self._endpoint is None else self._endpoint.model

    def may_ask(self, organization_id: UUID) -> bool:
        return self._endpoint is not None and self._may_leave(organization_id)

    @property
    def rests(self) -> bool:
        return trio.current_time() < self._rests_until

    async def ask(
        self, organization_id: UUID, kind: str, version: int, schema: type[T], payload: Mapping[str, Json]
    ) -> Answer[T]:
        """Ask with a prompt text of this kind and version. Raises `NoAnswer`."""
        spent: list[int] = []
        try:
            answer = await self._ask(organization_id, kind, version, schema, dict(payload), spent)
        except NoAnswer as failure:
            self._count(kind, failure.reason, sum(spent))
            if failure.reason in _RESTED_AFTER:
                self._rests_until = trio.current_time() + bounds.REST_SECONDS
                log.warning("the text model gave no answer", kind=kind, reason=failure.reason)
            raise
        self._count(kind, "ok", sum(spent))
        return answer

    async def _ask(
        self, organization_id: UUID, kind: str, version: int, schema: type[T], payload: Json, spent: list[int]
    ) -> Answer[T]:
        endpoint = self._checked(organization_id)
        data = msgspec.json.encode(leaving(payload)).decode()
        if len(data) > bounds.PAYLOAD_CHARACTERS_MAX:
            raise NoAnswer("too-large")
        wanted = msgspec.json.encode(schema_document(schema), order="sorted").decode()
        instructions = f"{_text('framing')}\n{_text(f'{kind}.{version}')}\nSchema of the answer: {wanted}\n"
        messages = [{"role": "system", "content": instructions}, {"role": "user", "content": data}]
        reserved = sum(len(each["content"]) for each in messages) // bounds.CHARACTERS_PER_TOKEN_MIN
        with trio.move_on_after(bounds.ASK_SECONDS):
            async with self._turns:
                self._checked(organization_id)  # it may have been switched off, or begun to rest, meanwhile
                completion = await self._paid(messages, kind, schema, reserved + bounds.ANSWER_TOKENS_MAX, spent)
            value = fitting(completion.text, schema)
            used = completion.usage
            tokens = (0, 0) if used is None else (used.prompt_tokens or 0, used.completion_tokens or 0)
            return Answer(value, endpoint.model, version, *tokens)
        raise NoAnswer("timeout")

    def _checked(self, organization_id: UUID) -> Endpoint:
        if self._endpoint is None:
            raise NoAnswer("off")
        if not self._may_leave(organization_id):
            raise NoAnswer("withheld")
        if self.rests:
            raise NoAnswer("resting")
        return self._endpoint

    async def _paid(
        self, messages: list[dict[str, str]], kind: str, schema: type[Any], tokens: int, spent: list[int]
    ) -> Completion:
        """Reserve, send, settle. A question that was sent but not answered stays reserved: it may have cost."""
        day = self._budget.reserve(tokens)
        if day is None:
            raise NoAnswer("budget")
        used = tokens
        try:
            completion = completion_of(await self._sent(messages, kind, schema))
            usage = completion.usage
            if usage is not None and usage.prompt_tokens is not None:
                used = max(usage.prompt_tokens, 0) + max(usage.completion_tokens or 0, 0)
        except NoAnswer as failure:
            if failure.reason in ("unreachable", "overloaded", "refused"):
                used = 0
            raise
        finally:
            self._budget.settle(day, tokens, used)
            spent.append(used)
        return completion

    async def _sent(self, messages: list[dict[str, str]], kind: str, schema: type[Any]) -> bytes:
        assert self._endpoint is not None
        question = {"model": self._endpoint.model, "messages": messages}
        answer = await _attempts(self._endpoint, {**question, **_form(kind, schema, plain=self._plain)})
        if answer.status in _NOT_UNDERSTOOD and not self._plain:
            answer = await _attempts(self._endpoint, {**question, **_form(kind, schema, plain=True)})
            self._plain = answer.status < 300
        if answer.status < 300:
            return answer.content
        if answer.status == 429:
            raise NoAnswer("overloaded")
        raise NoAnswer("failing" if answer.status >= 500 else "refused")


async def _attempts(endpoint: Endpoint, question: Mapping[str, Any]) -> HttpAnswer:
    """The last answer, whatever its status. Raises `NoAnswer` where there is none."""
    headers = {"Authorization": f"Bearer {endpoint.key or 'none'}", "Content-Type": "application/json"}
    pause_seconds = bounds.RETRY_PAUSE_SECONDS
    for left in reversed(range(bounds.RETRIES_MAX + 1)):
        wait_seconds = pause_seconds
        try:
            answer = await asked(
                "POST",
                endpoint.url.rstrip("/") + COMPLETIONS,
                seconds=bounds.ATTEMPT_SECONDS,
                bytes_max=bounds.ANSWER_BYTES_MAX,
                headers=headers,
                content=msgspec.json.encode(question),
            )
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
                followed = 0 < wanted_seconds <= bounds.RETRY_WAIT_SECONDS_MAX
                wait_seconds = wanted_seconds if followed else pause_seconds
        await trio.sleep(wait_seconds)
        pause_seconds *= 2
    raise AssertionError("the last attempt returns or raises")


def _form(kind: str, schema: type[Any], *, plain: bool) -> dict[str, Any]:
    if plain:
        return {"max_tokens": bounds.ANSWER_TOKENS_MAX, "temperature": 0}
    form = {"type": "json_schema", "json_schema": {"name": kind, "schema": schema_document(schema)}}
    return {"max_completion_tokens": bounds.ANSWER_TOKENS_MAX, "response_format": form}


@cache
def _text(name: str) -> str:
    return files("svc.llm").joinpath("prompts", f"{name}.txt").read_text(encoding="utf-8")
