"""Browsers that stand for whoever runs the server: in memory alone, so they end with the process."""

from aggregates.times import US_PER_SECOND

OPERATOR_HOURS = 8  # so long a browser stands for the operator
OPERATOR_LINK_SECONDS = 60
KEPT_MAX = 16  # links and browsers at a time; the oldest go


class Operators:
    """Known by digests of texts that are kept nowhere."""

    def __init__(self) -> None:
        self._links: dict[str, int] = {}
        self._browsers: dict[str, int] = {}  # digest → until when, in microseconds since 1970

    def __len__(self) -> int:
        """Links that wait, and browsers."""
        return len(self._links) + len(self._browsers)

    def offer(self, digest: str, now_us: int) -> int:
        """Let a link open the pages once; until when."""
        return _keep(self._links, digest, now_us + OPERATOR_LINK_SECONDS * US_PER_SECOND)

    def waits(self, digest: str, now_us: int) -> bool:
        """Whether this link opens; asking does not use it."""
        return self._links.get(digest, 0) > now_us

    def use(self, digest: str) -> None:
        """A link opens once."""
        self._links.pop(digest, None)

    def begin(self, digest: str, now_us: int) -> None:
        _keep(self._browsers, digest, now_us + OPERATOR_HOURS * 3_600 * US_PER_SECOND)

    def stands(self, digest: str, now_us: int) -> bool:
        return self._browsers.get(digest, 0) > now_us

    def end(self, digest: str) -> None:
        self._browsers.pop(digest, None)


def _keep(known: dict[str, int], digest: str, until_us: int) -> int:
    known[digest] = until_us
    while len(known) > KEPT_MAX:
        del known[next(iter(known))]
    return until_us
