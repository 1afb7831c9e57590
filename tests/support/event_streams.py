"""Server-sent events as the standard has them parsed: what is dispatched, and the id to go on from."""

from typing import Any

import msgspec

NAME = "svc.score_v3.sub_session.updated"


class Told(msgspec.Struct, frozen=True):
    """One event, as a page gets it: a sub-session of the caller's changed."""

    id: str
    at: str


class Stream:
    """What has arrived of one stream."""

    def __init__(self) -> None:
        self.told: list[Told] = []
        self.comments: list[str] = []
        self.last_id = ""  # what a browser would send as `Last-Event-ID` if it were cut off now
        self.retry_ms: int | None = None
        self._rest = ""
        self._fields: dict[str, str] = {}

    def feed(self, data: bytes) -> None:
        *lines, self._rest = (self._rest + data.decode()).split("\n")
        for line in lines:
            self._line(line)

    def _line(self, line: str) -> None:
        name, _, value = line.partition(":")
        if not line:
            self._dispatch()
        elif not name:
            self.comments.append(value.strip())
        elif name == "retry":
            self.retry_ms = int(value)
        else:
            assert name in ("event", "id", "data"), line
            assert name not in self._fields, "twice in one event"
            self._fields[name] = value.removeprefix(" ")

    def _dispatch(self) -> None:
        fields, self._fields = self._fields, {}
        self.last_id = fields.get("id", self.last_id)
        if "data" in fields:
            data: dict[str, Any] = msgspec.json.decode(fields["data"])
            assert fields["event"] == NAME
            self.told.append(msgspec.convert(data | {"id": self.last_id}, Told))


def stream_of(body: bytes) -> Stream:
    stream = Stream()
    stream.feed(body)
    return stream
