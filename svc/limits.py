"""Bounds that several modules share: units in the names, the reason beside each. The others stand where they hold."""

KIB_BYTES = 1024
MIB_BYTES = 1024 * KIB_BYTES
FRAME_BYTES_MAX = 4 * MIB_BYTES
"""The largest request body; the contract's figure. A text inside it cannot be longer."""
STORE_BUSY_TIMEOUT_MS = 5_000
"""How long a write waits for another process's lock (a backup, a shell) before it is given up."""
STORE_READERS_MAX = 8
"""Read connections to the log: projector, requests that show words, actors that load; about 2 MiB each."""
READ_BYTES_MAX = 16 * MIB_BYTES
"""Bytes in one read of the log, since a thousand events of 4 MiB would not fit in memory."""
FOLLOW_EVENTS = 500  # events about people that a node takes in at a time
LEASE_SECONDS = 15.0  # how long a node that vanished keeps the others from its jobs
FENCED_TRIES_MAX = 5  # how often a change of people is decided again because another node decided at the same time
MAILBOX_COMMANDS_MAX = 1_024
"""Commands that may wait for one developer: the burst of a whole team's agents that share a key."""
RESTART_SECONDS_MIN = 0.1
RESTART_SECONDS_MAX = 10.0
"""An actor that broke is started again after this pause, doubled each time; a listener after the shorter one."""
READ_WAIT_SECONDS = 2.0  # how long a read waits for its caller's own writes to be projected before it answers 503
READERS_MAX = 4  # reads that run at the same time, each with its own connection to the views
POLL_SECONDS = 0.25  # how often a command asks the running server how far a replay is
REPORT_RETRY_SECONDS = 1.0  # after a look, or an outcome to be stored, that failed because something is unavailable
FIRST_LINK_SECONDS = 600
"""How long the link of a first start waits: whoever starts a server may read its other lines first."""
