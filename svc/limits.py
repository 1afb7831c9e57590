"""Every bound of the process: units in the names, the reason beside each, asserted against each other."""

KIB_BYTES = 1024
MIB_BYTES = 1024 * KIB_BYTES

# --- one frame ------------------------------------------------------------------------------------------

FRAME_BYTES_MAX = 4 * MIB_BYTES
"""The largest request body; the contract's figure. A text inside it cannot be longer."""

# --- event store ----------------------------------------------------------------------------------------

STORE_BUSY_TIMEOUT_MS = 5_000
"""How long a write waits for another process's lock (a backup, a shell) before it is given up."""

STORE_READERS_MAX = 8
"""Read connections to the log: projector, requests that show words, actors that load; about 2 MiB each."""

READ_EVENTS_MAX = 1_000
"""Events in one read of the log: enough to make the read's fixed cost vanish, few enough to interrupt."""

READ_BYTES_MAX = 16 * MIB_BYTES
"""Bytes in one read of the log, since a thousand events of 4 MiB would not fit in memory."""

POSITIONS_PER_QUERY_MAX = 500
"""Positions asked for in one statement; SQLite takes 999 variables even in its oldest builds."""

# --- journal --------------------------------------------------------------------------------------------

COMMIT_APPENDS_MAX = 256
"""Appends in one transaction: an fsync costs as much as about 50 of them, so more would only add latency."""

COMMIT_BYTES_MAX = 8 * MIB_BYTES
"""Bytes in one transaction, so that one commit of large captures stays well below a second."""

JOURNAL_APPENDS_MAX = 4_096
"""Appends that may wait for the journal; at 2,000 durable commits a second even these are written in 2 s."""

JOURNAL_BYTES_MAX = 64 * MIB_BYTES
"""Bytes that may wait for the journal; the same bound as for bytes in flight in the process."""

JOURNAL_PROBE_INTERVAL_S = 1.0
"""How often a journal whose last write failed looks whether the store can be written again."""

assert FRAME_BYTES_MAX < COMMIT_BYTES_MAX, "the largest capture fits into one commit"
assert FRAME_BYTES_MAX < READ_BYTES_MAX, "the largest capture fits into one read"
assert COMMIT_BYTES_MAX <= JOURNAL_BYTES_MAX, "a full commit may wait"
assert COMMIT_APPENDS_MAX <= JOURNAL_APPENDS_MAX, "a full commit may wait"
