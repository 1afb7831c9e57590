"""Stage 1: each fact becomes rows keyed by session, time and id, and says what it touched.

Readings are made here, outside any transaction, so that a fact that cannot be read spoils nothing else.
"""

from aggregates import events as e
from aggregates.commands import TRANSCRIPT_SUFFIX
from aggregates.corrections import CorrectionEvent
from aggregates.digests import Digester
from aggregates.prices import PriceBook
from aggregates.report_events import ReportEvent
from aggregates.standing import Standing, of_prompt, of_response
from aggregates.turns import Answer, Capture
from projections.bodies import pack
from projections.corrections import add_correction
from projections.flags import add_flags
from projections.judge_answers import add_answer
from projections.prices import answer_price
from projections.rejudging import add_rejudging
from projections.reports import add_report
from projections.rows import BEGINNING_US, Digesters, Reprice, Rows, add_capture, host_name, trusted
from projections.telemetry_rows import add_points, add_records


def add_fact(rows: Rows, position: int, event: e.Event, digesters: Digesters, prices: PriceBook | None) -> None:
    """The rows one fact stands for; none for facts that concern no session.

    `prices`: the newest valid catalog at the fact's place in the log, None before there was one.
    """
    add_flags(rows, position, event)
    match event:
        case e.SessionClaimed():
            owner = (event.agent_session_id, str(event.organization_id), str(event.developer_id))
            rows.sessions.append(owner)
            # Captures may have been waiting for the claim: derive the session from its beginning.
            rows.touched_times.append((event.agent_session_id, BEGINNING_US))
        case e.PromptCaptured():
            _add_prompt(rows, position, event, digesters(event.developer_id))
        case e.PromptAnswered():
            _add_answer(rows, position, event, digesters(event.developer_id), prices)
        case e.RecordsCaptured():
            add_records(rows, position, event, digesters(event.developer_id), prices)
        case e.MetricsCaptured():
            add_points(rows, position, event)
        case e.CatalogPublished():
            snapshot = event.snapshot
            rows.catalogs.append((snapshot.catalog_revision, snapshot.checksum_sha256, position, pack(snapshot)))
        case e.RequestsRepriced() | e.BackfillAdvanced() | ReportEvent():
            _add_order(rows, position, event)
        case e.SetupCompleted():
            rows.setups.append((str(event.developer_id),))
        case (
            e.TitleEdited()
            | e.GapCorrected()
            | e.GoalCorrected()
            | e.ReworkCorrected()
            | e.IntentCorrected()
            | e.JudgeAnswered()
        ):
            _add_saying(rows, position, event)


def _add_saying(rows: Rows, position: int, event: e.TitleEdited | CorrectionEvent | e.JudgeAnswered) -> None:
    """What a person, or a text model, said about a sub-session."""
    if isinstance(event, e.TitleEdited):
        rows.titles.append((str(event.turn_id), position, int(event.summary is not None)))
        rows.touched_turns.append(str(event.turn_id))
    elif isinstance(event, e.JudgeAnswered):
        add_answer(rows, position, event)
    else:
        add_correction(rows, position, event)


def _add_order(rows: Rows, position: int, event: e.RequestsRepriced | e.BackfillAdvanced | ReportEvent) -> None:
    """Work that was asked for, and how far it has come."""
    match event:
        case e.RequestsRepriced():
            rows.repricings.append(_repricing(position, event))
        case e.BackfillAdvanced():
            add_rejudging(rows, event)
        case ReportEvent():
            add_report(rows, position, event)


def _add_prompt(rows: Rows, position: int, event: e.PromptCaptured, digester: Digester) -> None:
    shown = of_prompt(position, event.prompt, digester) or Standing(position)
    capture = Capture(
        capture_id=event.prompt_id,
        kind="transcript" if event.source.endswith(TRANSCRIPT_SUFFIX) else "plugin",
        at_us=trusted(event.submitted_at_us, event.received_at_us),
        position=position,
        host_prompt_id=host_name(event.host_prompt_id, event.agent_session_id),
        text_digest=shown.text_digest,
        reading=shown.prompt,
        cwd_digest=event.cwd_digest,
    )
    add_capture(rows, event.agent_session_id, capture)


def _repricing(position: int, event: e.RequestsRepriced) -> Reprice:
    return Reprice(position, str(event.organization_id), event.catalog_revision, event.from_us, event.to_us)


def _add_answer(
    rows: Rows, position: int, event: e.PromptAnswered, digester: Digester, prices: PriceBook | None
) -> None:
    shown = of_response(position, event.response, digester)
    answer = Answer(
        # Times that hang on the prompt's own time are settled when the turn is built.
        at_us=trusted(event.responded_at_us, event.received_at_us),
        timed=event.responded_at_us is not None,
        position=position,
        reading=None if shown is None else shown.response,
        elapsed_ms=event.elapsed_ms,
        model=event.model,
        input_tokens=event.input_tokens,
        output_tokens=event.output_tokens,
        cache_read_tokens=event.cache_read_tokens,
        cache_write_tokens=event.cache_creation_tokens,
        cost_usd_nano=event.cost_usd_nano,
    )
    capture_id = str(event.prompt_id)
    price = answer_price(prices, answer, answer.at_us)
    rows.answers.append(
        (
            capture_id,
            event.agent_session_id,
            event.content_digest,
            event.received_at_us,
            position,
            pack(answer),
            None if price is None else pack(price),
        )
    )
    rows.touched_captures.append(capture_id)
