"""Where a text model answers; apart from the client, so that settings need load nothing else."""

import msgspec


class Endpoint(msgspec.Struct, frozen=True):
    """Where a model answers."""

    url: str
    model: str
    key: str | None = None

    def __repr__(self) -> str:
        return f"Endpoint({self.url!r}, {self.model!r})"
