"""The endpoint of a text model, its bounds, and what a day may cost.

Tokens are reserved before a question leaves, and settled once its cost is known. The count lies in a small file beside
the data, so that a server which is started again and again spends no more than one that runs on.
"""

from collections.abc import Callable
from pathlib import Path

import msgspec

FILE = "llm-spent.json"
_US_PER_DAY = 86_400_000_000
CALLS_MAX = 4  # questions on their way at the same time
ATTEMPT_SECONDS = 30.0  # one attempt at an answer
RETRIES_MAX = 2  # after a 408, 409, 429 or 5xx, a broken connection or a time-out
RETRY_PAUSE_SECONDS = 0.5  # before the second attempt; twice that before the third
RETRY_WAIT_SECONDS_MAX = 60.0  # a `Retry-After` beyond it is not followed
ASK_SECONDS = 75.0  # a question with its retries and the wait for its turn
REST_SECONDS = 30.0  # nobody is asked after a failure that is not of one question alone: else every caller would wait
ANSWER_TOKENS_MAX = 800  # a narrative of 1,200 characters of Korean takes about as many
ANSWER_BYTES_MAX = 1024 * 1024  # of a body, error or not; a model that thinks aloud takes some 20 KiB
PAYLOAD_CHARACTERS_MAX = 24_000  # of data in one question: some 6,000 tokens of English
CHARACTERS_PER_TOKEN_MIN = 2  # to reserve tokens before their number is known: rather too many than too few
DAILY_TOKENS = 500_000  # in a day of UTC unless the operator says otherwise: some 250 sub-sessions
NARRATIVE_WAIT_SECONDS = 8.0  # how long a read waits for a narrative that is being written
NARRATIVES_AT_ONCE_MAX = 32  # under way or waiting for their turn
NARRATIVES_KEPT_MAX = 256  # of a team's or a developer's day, some 2 KiB each
JUDGE_LOOK_SECONDS = 30.0  # how often it is looked for sub-sessions that settled
JUDGE_SUB_SESSIONS = 20  # taken on at one look, those that settled last first
JUDGE_DAYS = 7  # what settled longer ago is left as it was judged: a new model does not read the whole past
JUDGE_REMEMBERED_MAX = 20_000  # sub-sessions that are done with; beyond it all are looked at again
JUDGE_PROMPTS_MAX = 20  # of one sub-session, judged and told of with its outcome: the first ones, and its last
JUDGE_GAPS_MAX = 8  # of one agent session, those first that the judge is least sure of
assert ANSWER_TOKENS_MAX + PAYLOAD_CHARACTERS_MAX // CHARACTERS_PER_TOKEN_MIN < DAILY_TOKENS, "one is affordable"
assert ATTEMPT_SECONDS < ASK_SECONDS, "one attempt may take its time"


class Endpoint(msgspec.Struct, frozen=True):
    url: str
    model: str
    key: str | None = None

    def __repr__(self) -> str:
        return f"Endpoint({self.url!r}, {self.model!r})"


class _Spent(msgspec.Struct):
    day: int  # days since 1970, UTC
    tokens: int = 0


class Budget:
    def __init__(self, path: Path, daily_tokens: int, now_us: Callable[[], int]) -> None:
        self._path = path
        self.daily_tokens = daily_tokens
        self._now_us = now_us
        self._spent = self._read()

    @property
    def spent_tokens(self) -> int:
        return self._today().tokens

    def reserve(self, tokens: int) -> int | None:
        """Take tokens from the day's budget; the day they belong to, or None where too few are left."""
        today = self._today()
        if today.tokens + tokens > self.daily_tokens:
            return None
        today.tokens += tokens
        self._write()
        return today.day

    def settle(self, day: int, reserved: int, used: int) -> None:
        """Replace reserved tokens by used ones; no effect on a later day."""
        today = self._today()
        if today.day == day:
            today.tokens = max(today.tokens - reserved + used, 0)
            self._write()

    def _today(self) -> _Spent:
        day = self._now_us() // _US_PER_DAY
        if day > self._spent.day:  # a clock that jumps back gives no second budget
            self._spent = _Spent(day)
        return self._spent

    def _read(self) -> _Spent:
        """A file that cannot be read may mean anything: the day counts as spent."""
        day = self._now_us() // _US_PER_DAY
        try:
            return msgspec.json.decode(self._path.read_bytes(), type=_Spent)
        except FileNotFoundError:
            return _Spent(day)
        except (OSError, msgspec.DecodeError) as error:
            import structlog  # late: settings stand on this module, and commands on settings

            log = structlog.get_logger()
            log.warning("what was spent on the text model cannot be read; it rests until tomorrow", reason=str(error))
            return _Spent(day, self.daily_tokens)

    def _write(self) -> None:
        draft = self._path.with_suffix(".draft")
        draft.write_bytes(msgspec.json.encode(self._spent))
        draft.replace(self._path)
