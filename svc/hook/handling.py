"""What a hook call does: keep what happened in the outbox, then send what waits there."""

import contextlib
import time
from collections.abc import Callable
from typing import Any

from svc.hook.captures import captured
from svc.hook.inputs import AGENTS, happening
from svc.hook.outbox import Outbox
from svc.hook.places import Connection, connection_folder, load_connection
from svc.hook.sessions import Sessions
from svc.hook.transcripts import last_message


def handle(
    agent: str, connection_name: str, told: dict[str, Any], *, deadline: float, late: list[Callable[[], None]]
) -> None:
    """`deadline`, by the monotonic clock: until when something is sent. Raises `OSError` where nothing can be kept.

    `late` takes what is to be done should the process be ended while it sends.
    """
    connection = load_connection(connection_name)
    if connection is None or agent not in AGENTS:
        return
    outbox = Outbox(connection_folder(connection_name))
    keep(connection, outbox, agent, told)
    late.append(lambda: outbox.pause("no answer in time"))
    send(connection, outbox, deadline)


def keep(connection: Connection, outbox: Outbox, agent: str, told: dict[str, Any]) -> None:
    """Accept what happened. A prompt is noted first: were it lost, its answer would be taken for another one's."""
    found = happening(agent, told)
    if found is None:
        return
    if found.kind == "response" and found.text is None:
        found = found._replace(text=last_message(found.transcript))
    sessions = Sessions(connection_folder(connection.name))
    last = sessions.last(found.session) if found.kind == "response" else None
    letter, prompt = captured(connection, found, last, time.time())
    if prompt is not None and not prompt.answered:
        sessions.remember(found.session, prompt)
    if letter is not None:
        outbox.accept(letter)
    if prompt is not None and prompt.answered:
        sessions.remember(found.session, prompt)
    if found.kind == "session_end":
        sessions.forget_old()


def send(connection: Connection, outbox: Outbox, deadline: float) -> None:
    """Send what waits."""
    # Imported only now: what happened is on disk before the half of the time that this takes.
    from svc.hook.sending import Sender

    with contextlib.closing(Sender(connection, outbox, deadline)) as sender:
        sender.send_waiting()
