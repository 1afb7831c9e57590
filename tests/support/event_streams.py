"""Server-sent events as the standard has them parsed: what is dispatched, and the id to go on from."""

import msgspec

NAME = "svc.score_v3.sub_session.updated"


class Told(msgspec.Struct, frozen=True):
    """One event, as a page gets it: a sub-session of the caller's changed."""

    id: str
    at: str


class Stream:
    """What has arrived of one stream."""

    def __init__(self, body: bytes = b"") -> None:
        self.told: list[Told] = []
        self.comments: list[str] = []
        self.last_id = ""  # what a browser would send as `Last-Event-ID` if it were cut off now
        self.retry_ms: int | None = None
        self._rest = ""
        self.feed(body)

    def feed(self, data: bytes) -> None:
        *blocks, self._rest = (self._rest + data.decode()).split("\n\n")
        for block in blocks:
            lines = [line.partition(":") for line in block.split("\n") if line]
            self.comments += [value.strip() for name, _, value in lines if not name]
            fields = {name: value.removeprefix(" ") for name, _, value in lines if name}
            assert fields.keys() <= {"retry", "event", "id", "data"}, block
            assert len(fields) == sum(bool(name) for name, _, _ in lines), "twice in one event"
            self.last_id = fields.get("id", self.last_id)
            self.retry_ms = int(fields["retry"]) if "retry" in fields else self.retry_ms
            if "data" in fields:
                assert fields["event"] == NAME
                told = msgspec.json.decode(fields["data"])
                self.told.append(msgspec.convert(told | {"id": self.last_id}, Told))
