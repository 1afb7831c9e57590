"""An exchange as capture commands: the same ones that a plugin and telemetry make."""

from collections.abc import Iterator
from uuid import UUID, uuid5

import msgspec

from aggregates.canonical import ResponseContent
from aggregates.commands import TRANSCRIPT_SUFFIX, CapturePrompt, CaptureRecords, CaptureResponse
from aggregates.digests import Digester
from aggregates.ids import prompt_stream
from aggregates.records import Record
from aggregates.scope import Scope
from aggregates.telemetry.happening import Draft
from aggregates.word_table import WordTable
from svc.transcripts.exchange import Exchange

DECODER_VERSION = 1
BATCH_RECORDS_MAX = 200

_LINE_NAMESPACE = UUID("0d0f7a3e-5a0e-5d6b-9f0e-6d1f0f3a7b52")


class Captures:
    """Makes the commands of one developer's exchanges.

    Ids come from line ids alone, so a prompt that a forked session repeats is the same prompt.
    """

    def __init__(self, scope: Scope, digester: Digester, source: str, *, redaction: bool = True) -> None:
        """`source` is the agent's name."""
        self._scope = scope
        self._digester = digester
        self._source = source
        self._redaction = redaction

    def prompt(self, exchange: Exchange) -> CapturePrompt | None:
        """The prompt, where the exchange has one."""
        prompt = exchange.prompt
        if prompt is None:
            return None
        client_event_id = uuid5(_LINE_NAMESPACE, prompt.line_id)
        return CapturePrompt(
            organization_id=self._scope.organization_id,
            developer_id=self._scope.developer_id,
            prompt_id=prompt_stream(self._scope.developer_id, client_event_id),
            agent_session_id=exchange.agent_session_id,
            source=self._source + TRANSCRIPT_SUFFIX,
            text=prompt.text,
            client_event_id=client_event_id,
            host_prompt_id=prompt.host_prompt_id,
            submitted_at_us=prompt.at_us,
            cwd=prompt.cwd,
        )

    def response(self, exchange: Exchange) -> CaptureResponse | None:
        """The answer, where there is one. It carries no tokens: the requests' records do."""
        prompt, answer = exchange.prompt, exchange.answer
        if prompt is None or answer is None:
            return None
        client_event_id = uuid5(_LINE_NAMESPACE, prompt.line_id)
        return CaptureResponse(
            organization_id=self._scope.organization_id,
            developer_id=self._scope.developer_id,
            prompt_id=prompt_stream(self._scope.developer_id, client_event_id),
            content=ResponseContent(response_text=answer.text, elapsed_ms=answer.elapsed_ms),
            response_operation_id=str(uuid5(client_event_id, "response")),
            responded_at_us=answer.at_us,
        )

    def records(self, exchange: Exchange) -> Iterator[CaptureRecords]:
        """The records in batches; none reaches beyond its exchange, so it is the same batch next time."""
        for start in range(0, len(exchange.drafts), BATCH_RECORDS_MAX):
            yield self._batch(exchange, exchange.drafts[start : start + BATCH_RECORDS_MAX])

    def _batch(self, exchange: Exchange, drafts: tuple[Draft, ...]) -> CaptureRecords:
        words = WordTable(redaction=self._redaction)
        records = tuple(self._record(draft, words) for draft in drafts)
        return CaptureRecords(
            organization_id=self._scope.organization_id,
            developer_id=self._scope.developer_id,
            agent_session_id=exchange.agent_session_id,
            source=self._source,
            decoder_version=DECODER_VERSION,
            records=records,
            words=words.words,
            redactions=words.redactions,
        )

    def _record(self, draft: Draft, words: WordTable) -> Record:
        key = draft.input_key
        return msgspec.structs.replace(
            draft.record,
            text=words.add(draft.text),
            path=words.add(draft.path),
            command=words.add(draft.command),
            input_digest=None if key is None else self._digester.number(key),
        )
