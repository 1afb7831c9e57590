"""Every bound of what is asked of a text model."""

CALLS_MAX = 4
"""Questions on their way at the same time."""

ATTEMPT_SECONDS = 30.0
"""How long one attempt at an answer may take."""

RETRIES_MAX = 2
"""How often the client library tries again after a 429, a 5xx, a broken connection or a time-out."""

ASK_SECONDS = 75.0
"""How long a question may take with its retries and the wait for its turn."""

REST_SECONDS = 30.0
"""After a failure that is not of one question alone nobody is asked for so long: else every caller would wait."""

ANSWER_TOKENS_MAX = 800
"""The longest answer asked for; a narrative of 1,200 characters of Korean takes about as many."""

ANSWER_BYTES_MAX = 64 * 1024
"""A longer one is not looked at."""

PAYLOAD_CHARACTERS_MAX = 24_000
"""Of data in one question: some 6,000 tokens of English."""

CHARACTERS_PER_TOKEN_MIN = 2
"""To reserve tokens before it is known what a question costs: rather too many than too few."""

DAILY_TOKENS = 500_000
"""What may be spent in a day of UTC unless the operator says otherwise: some 250 sub-sessions."""

NARRATIVE_WAIT_SECONDS = 8.0
"""How long a read waits for a narrative that is being written; it is there for the next one."""

NARRATIVES_AT_ONCE_MAX = 32
"""Narratives that may be under way or waiting for their turn."""

NARRATIVES_KEPT_MAX = 256
"""Of a team's or a developer's day, some 2 KiB each."""

JUDGE_LOOK_SECONDS = 30.0
"""How often it is looked for sub-sessions that settled and were not judged by the model."""

JUDGE_SUB_SESSIONS = 20
"""Taken on at one look, those that settled last first."""

JUDGE_DAYS = 7
"""What settled longer ago is left as it was judged: a model that is new does not read the whole past."""

JUDGE_REMEMBERED_MAX = 20_000
"""Sub-sessions that are done with; beyond it all are looked at again."""

JUDGE_PROMPTS_MAX = 20
"""Prompts of one sub-session that are judged, and told of with its outcome: the first ones, and its last."""

JUDGE_GAPS_MAX = 8
"""Gaps between prompts of one agent session that are asked about, those first that the judge is least sure of."""

assert ANSWER_TOKENS_MAX + PAYLOAD_CHARACTERS_MAX // CHARACTERS_PER_TOKEN_MIN < DAILY_TOKENS, (
    "one question is affordable"
)
assert ATTEMPT_SECONDS < ASK_SECONDS, "one attempt may take its time"
