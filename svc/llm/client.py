"""Asking: one question to an OpenAI-compatible endpoint, within every bound, or `NoAnswer`."""

import math
from collections.abc import Callable, Mapping
from functools import cache
from importlib.resources import files
from typing import Any, TypeVar
from uuid import UUID

import msgspec
import structlog
import trio

from svc.llm import budget as bounds
from svc.llm.answers import Answer, Completion, Json, NoAnswer, completion_of, fitting, leaving, schema_document
from svc.llm.budget import Budget
from svc.llm.endpoint import Endpoint, EndpointClient

log = structlog.get_logger()
T = TypeVar("T")
MayLeave = Callable[[UUID], bool]
Count = Callable[[str, str, int], None]
_NOT_UNDERSTOOD = (400, 422)
"""What an endpoint of the older form says to a question of the newer one."""
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
        self._loading = trio.Lock()
        self._client: EndpointClient | None = None
        self._plain = False
        """Whether the endpoint refused the newer form of a question."""
        self._rests_until = -math.inf

    @property
    def model(self) -> str | None:
        return None if self._endpoint is None else self._endpoint.model

    def may_ask(self, organization_id: UUID) -> bool:
        """Whether there is a model and the organization lets text leave."""
        return self._endpoint is not None and self._may_leave(organization_id)

    @property
    def rests(self) -> bool:
        """Whether it is left alone for a while after a failure."""
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

    async def close(self) -> None:
        if self._client is not None:
            await self._client.close()

    async def _ask(
        self, organization_id: UUID, kind: str, version: int, schema: type[T], payload: Json, spent: list[int]
    ) -> Answer[T]:
        endpoint = self._endpoint
        self._check(organization_id)
        assert endpoint is not None
        data = msgspec.json.encode(leaving(payload)).decode()
        if len(data) > bounds.PAYLOAD_CHARACTERS_MAX:
            raise NoAnswer("too-large")
        messages = [
            {"role": "system", "content": _instructions(kind, version, schema)},
            {"role": "user", "content": data},
        ]
        reserved = sum(len(each["content"]) for each in messages) // bounds.CHARACTERS_PER_TOKEN_MIN
        with trio.move_on_after(bounds.ASK_SECONDS):
            async with self._turns:
                self._check(organization_id)  # it may have been switched off, or begun to rest, meanwhile
                completion = await self._paid(messages, kind, schema, reserved + bounds.ANSWER_TOKENS_MAX, spent)
            value = fitting(completion.text, schema)
            used = completion.usage
            tokens = (0, 0) if used is None else (used.prompt_tokens or 0, used.completion_tokens or 0)
            return Answer(value, endpoint.model, version, *tokens)
        raise NoAnswer("timeout")

    def _check(self, organization_id: UUID) -> None:
        if self._endpoint is None:
            raise NoAnswer("off")
        if not self._may_leave(organization_id):
            raise NoAnswer("withheld")
        if self.rests:
            raise NoAnswer("resting")

    async def _paid(
        self, messages: list[dict[str, str]], kind: str, schema: type[Any], tokens: int, spent: list[int]
    ) -> Completion:
        """Reserve, send, settle. A question that was sent but not answered stays reserved: it may have cost."""
        async with self._loading:
            if self._client is None:
                assert self._endpoint is not None
                self._client = await trio.to_thread.run_sync(EndpointClient, self._endpoint)
            client = self._client
        day = self._budget.reserve(tokens)
        if day is None:
            raise NoAnswer("budget")
        used = tokens
        try:
            body = await self._sent(client, messages, kind, schema)
            completion = completion_of(body)
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

    async def _sent(
        self, client: EndpointClient, messages: list[dict[str, str]], kind: str, schema: type[Any]
    ) -> bytes:
        question = {"model": str(self.model), "messages": messages}
        try:
            body = await client.asked({**question, **_form(kind, schema, plain=self._plain)})
            if body.status in _NOT_UNDERSTOOD and not self._plain:
                body = await client.asked({**question, **_form(kind, schema, plain=True)})
                self._plain = body.status < 300
        except TimeoutError as error:
            raise NoAnswer("timeout") from error
        except ConnectionError as error:
            raise NoAnswer("unreachable") from error
        if body.status < 300:
            return body.content
        if body.status == 429:
            raise NoAnswer("overloaded")
        raise NoAnswer("failing" if body.status >= 500 else "refused")


def _form(kind: str, schema: type[Any], *, plain: bool) -> dict[str, Any]:
    if plain:
        return {"max_tokens": bounds.ANSWER_TOKENS_MAX, "temperature": 0}
    form = {"type": "json_schema", "json_schema": {"name": kind, "schema": schema_document(schema)}}
    return {"max_completion_tokens": bounds.ANSWER_TOKENS_MAX, "response_format": form}


def _instructions(kind: str, version: int, schema: type[Any]) -> str:
    wanted = msgspec.json.encode(schema_document(schema), order="sorted").decode()
    return f"{_text('framing')}\n{_text(f'{kind}.{version}')}\nSchema of the answer: {wanted}\n"


@cache
def _text(name: str) -> str:
    return files("svc.llm").joinpath("prompts", f"{name}.txt").read_text(encoding="utf-8")
