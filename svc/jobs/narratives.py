"""Narratives of days: written by a text model beside the requests that want them, kept while they stand.

Who asks waits a little, and goes without where it takes longer; what is written then is there for the next one. What
failed is not kept.
"""

from collections import OrderedDict
from collections.abc import Callable
from uuid import UUID

import msgspec
import trio

from aggregates.reports.prose import Narrative, NarrativeRequest, normalized
from svc.llm.answers import Json, NoAnswer
from svc.llm.budget import NARRATIVE_WAIT_SECONDS, NARRATIVES_AT_ONCE_MAX, NARRATIVES_KEPT_MAX
from svc.llm.client import Gateway

VERSION = 1
"""Of the prompt texts."""
LANGUAGES = {"en": "English", "ko": "Korean"}
"""As a model is told them."""


class NarrativeAnswer(msgspec.Struct, forbid_unknown_fields=True):
    """A model's answer. A structured one is refused as a whole."""

    narrative: str
    structured_narrative: None = None


class Narratives:
    def __init__(self, gateway: Gateway, now_us: Callable[[], int]) -> None:
        self._gateway = gateway
        self._now_us = now_us
        self._kept: OrderedDict[tuple[str, ...], Narrative] = OrderedDict()
        self._under_way: dict[tuple[str, ...], trio.Event] = {}
        self._nursery: trio.Nursery | None = None

    async def run(self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        async with trio.open_nursery() as nursery:
            self._nursery = nursery
            task_status.started()
            await trio.sleep_forever()

    def may_narrate(self, organization_id: UUID) -> bool:
        return self._gateway.may_ask(organization_id)

    async def narrate(self, wanted: NarrativeRequest) -> Narrative | None:
        """The narrative, or None where there is none yet. Never raises because of the model."""
        if not wanted.work.members or not self._gateway.may_ask(wanted.scope.organization_id):
            return None
        kept = self._standing(wanted)
        written = None if kept is not None else self._begun(wanted)
        if written is None:
            return kept
        with trio.move_on_after(NARRATIVE_WAIT_SECONDS):
            await written.wait()
        return self._standing(wanted)

    def _standing(self, wanted: NarrativeRequest) -> Narrative | None:
        kept = self._kept.get(wanted.name)
        return kept if kept is not None and kept.stands(wanted.work, self._now_us()) else None

    def _begun(self, wanted: NarrativeRequest) -> trio.Event | None:
        under_way = self._under_way.get(wanted.name)
        if under_way is not None or self._nursery is None or len(self._under_way) >= NARRATIVES_AT_ONCE_MAX:
            return under_way
        written = self._under_way[wanted.name] = trio.Event()
        self._nursery.start_soon(self._write, wanted, written)
        return written

    async def _write(self, wanted: NarrativeRequest, written: trio.Event) -> None:
        labels: list[Json] = [list(each) for each in wanted.work.members]
        about: dict[str, Json] = {"members": labels} if wanted.kind == "team" else {"work": labels[0]}
        payload = {"language": LANGUAGES[wanted.language], **about}
        try:
            organization_id = wanted.scope.organization_id
            answer = await self._gateway.ask(organization_id, wanted.kind, VERSION, NarrativeAnswer, payload)
            self._keep(wanted, normalized(answer.value.narrative))
        except NoAnswer:
            pass  # counted by the gateway; nothing is kept
        finally:
            del self._under_way[wanted.name]
            written.set()

    def _keep(self, wanted: NarrativeRequest, text: str) -> None:
        if not text:
            return
        self._kept[wanted.name] = Narrative(text, self._now_us(), wanted.work.clipped, wanted.work)
        self._kept.move_to_end(wanted.name)
        while len(self._kept) > NARRATIVES_KEPT_MAX:
            self._kept.popitem(last=False)
