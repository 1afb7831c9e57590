"""A report's prose: asked of the text model once the sections are made, where there is a model.

No report fails for it. Where no answer comes, or none that is believed, there is no prose; it is not asked for again.
"""

from uuid import UUID

import msgspec
import structlog

from aggregates.habits import language_of
from aggregates.report_prose import Prose, believed_prose, told_of
from projections.reports import OpenReport
from svc.gateway.answers import NoAnswer
from svc.gateway.client import Count, Gateway
from svc.gateway.leaving import Json
from svc.narratives import LANGUAGES

log = structlog.get_logger()

VERSION = 1
"""Of the prompt text `report`."""
_PERIODS = {"daily": "day", "weekly": "week", "monthly": "month"}


class ProseAnswer(msgspec.Struct, forbid_unknown_fields=True):
    """What a model may answer."""

    narrative: str


class ReportProse:
    """Asks for the prose of one report after the other."""

    def __init__(self, gateway: Gateway, count: Count) -> None:
        self._gateway = gateway
        self._count = count

    async def write(self, wanted: OpenReport, sections: str) -> Prose | None:
        """The prose; None where there is none. Never raises for the model's sake."""
        organization_id: UUID = wanted.scope.organization_id
        told = told_of(sections) if self._gateway.may_ask(organization_id) else None
        if told is None:
            return None
        payload: dict[str, Json] = {
            "language": LANGUAGES[language_of(wanted.language)],
            "period": _PERIODS[wanted.period.name],
            "figures": dict(told.figures),
            "weakest_habits": list(told.weakest_habits),
        }
        try:
            answer = await self._gateway.ask(organization_id, "report", VERSION, ProseAnswer, payload)
        except NoAnswer:
            return None  # counted by the gateway
        text = believed_prose(answer.value.narrative, told.figures)
        if text is None:
            log.warning("a report's prose is not shown: it says more than the figures", report_id=str(wanted.report_id))
            self._count("report", "disbelieved", 0)
            return None
        return Prose(text, answer.model, answer.version, answer.input_tokens, answer.output_tokens)
