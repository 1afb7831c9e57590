"""Every bound of the process: units in the names, the reason beside each, asserted against each other."""

KIB_BYTES = 1024
MIB_BYTES = 1024 * KIB_BYTES

# --- one frame ------------------------------------------------------------------------------------------

FRAME_BYTES_MAX = 4 * MIB_BYTES
"""The largest request body; the contract's figure. A text inside it cannot be longer."""

# --- event store ----------------------------------------------------------------------------------------

STORE_BUSY_TIMEOUT_MS = 5_000
"""How long a write waits for another process's lock (a backup, a shell) before it is given up."""
VIEWS_WAL_BYTES = 8 * MIB_BYTES
"""What the views' write-ahead log is cut to once its readers let it; a long read beside a rebuild lets it grow."""
STORE_READERS_MAX = 8
"""Read connections to the log: projector, requests that show words, actors that load; about 2 MiB each."""
READ_EVENTS_MAX = 1_000
"""Events in one read of the log: enough to make the read's fixed cost vanish, few enough to interrupt."""
READ_BYTES_MAX = 16 * MIB_BYTES
"""Bytes in one read of the log, since a thousand events of 4 MiB would not fit in memory."""
BACKUP_PAGES = 4_096
"""Pages of 4 KiB that a backup copies at a time: it shows how far it is, and can be interrupted, between any two."""
BACKUP_TRIES = 5
"""How often the archive is copied again because files of it were merged meanwhile; then it is left out."""
BACKUP_LOOK_SECONDS = 60.0
"""How often the server looks whether a backup is due; a look lists one folder."""
BACKUP_RETRY_SECONDS = 900.0
"""After a scheduled backup failed: a full disk is not written to again and again."""
BACKUP_MANIFEST_BYTES_MAX = 64 * MIB_BYTES
"""Of the list of files in a backup: 250,000 of them, where a file of the archive holds a day."""
BACKUP_EXTRA_BYTES_MAX = 4 * KIB_BYTES
"""Of what a .tar file may say of a file besides its name and size; the time of its last change takes 30 bytes."""
EXPORT_PAGE = 200
"""Sub-sessions, or prompts, that an export reads at a time."""
EXPORT_ROW_BYTES_MIN = MIB_BYTES
"""Room for the longest line of an export when it becomes Parquet; more where one is longer, and twice that in all."""
FINDINGS_MAX = 200
"""How many findings of a verification are shown; a broken disk has no end of them."""
LOST_KEYS_NAMED_MAX = 20
"""How many developers without their key file a start names one by one."""
KEEP_EVENTS = 500
"""Events that a retention, a forgetting, an export or a verification takes at a time: half a second's work at most."""
KEEP_PAUSE_SECONDS = 0.01
"""Between two such pieces in a server, so that captures and readers get their turn."""
ORDERS_SECONDS = 0.5
"""How soon the server looks for orders to forget somebody after the log grew; a look is one search in an index."""
KEY_USES_SECONDS = 60.0
"""How often the server looks for days of key use that the log does not have: one for each key and day."""
FORGET_FAILED_SECONDS = 25.0
"""`svc forget` waits no longer once builds of the views have stood as failed for so long: three of them, ten seconds
apart. The service goes on."""
SWEEP_TRIES = 20
"""How often, a quarter of a second apart, the write-ahead log is tried to be emptied before that is put off."""
RETENTION_SECONDS = 3_600.0
"""How often a server takes away what has outlived its retention, which is given in days."""
RETENTION_MARK_EVENTS = 20_000
"""After so many events a retention notes how far it has come: so much is looked at again after a crash."""
RETENTION_YOUNG_EVENTS = 20_000
"""After so many events in a row that are too young, a server's retention looks on an hour later: usually there is
nothing old behind them, and it takes a second to see."""
RECALL_EVENTS = 50
"""Facts about forgotten texts in one read: each holds up to `STANDING_BYTES` of readings."""
RECALL_CHUNKS_MAX = 64
"""How many of them a replay keeps at hand, since developers alternate in the log: some 20 MiB."""
STANDING_BYTES = 256 * KIB_BYTES
"""Of readings in one fact about forgotten texts; a single batch of telemetry may hold more."""
POSITIONS_PER_QUERY_MAX = 500
"""Positions asked for in one statement; SQLite takes 999 variables even in its oldest builds."""

# --- event store on PostgreSQL --------------------------------------------------------------------------

SHARED_WRITERS_MAX = 3
"""Connections of a node that write: the journal's, one for keys and leases, one that looks a lost commit up."""
SHARED_CONNECT_SECONDS = 5.0
"""How long a connection is waited for, in the pool and on the network."""
SHARED_LOCK_MS = 5_000
"""How long an append waits for another node's, which takes milliseconds unless that node hangs in the middle."""
SHARED_STATEMENT_MS = 15_000
"""How long a statement may take: the largest commit, or the largest read, on a busy server."""
SHARED_IDLE_TRANSACTION_MS = 10_000
"""How long a node that was frozen in the middle of a transaction may hold the others up."""
SHARED_ANSWER_SECONDS = 20.0
"""How long an answer is waited for where the server itself is frozen, and no time-out of its own ends."""
SHARED_KEEPALIVE_SECONDS = 5.0
"""So soon, three times, a connection that says nothing is asked whether it still stands."""
FOLLOW_SECONDS = 0.25
"""How often a node asks how far the log has come; it is woken earlier where another node appends."""
FOLLOW_PAUSE_SECONDS = 0.02
"""Between two such questions, however often it is woken."""
FOLLOW_EVENTS = 500
"""Events about people that a node takes in at a time."""
LEASE_SECONDS = 15.0
"""How long a node that vanished keeps the others from its jobs."""
LEASE_RENEW_SECONDS = 4.0
"""How often leases are renewed, and those that nobody holds taken: three tries before one ends."""
FENCED_TRIES_MAX = 5
"""How often a change of people is decided again because another node decided at the same time."""
assert SHARED_STATEMENT_MS < SHARED_ANSWER_SECONDS * 1_000, "the server gives up first, and says why"
assert 3 * LEASE_RENEW_SECONDS < LEASE_SECONDS, "a lease outlives two renewals that failed"

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

# --- actors ---------------------------------------------------------------------------------------------

MAILBOX_COMMANDS_MAX = 1_024
"""Commands that may wait for one developer: the burst of a whole team's agents that share a key."""
FLIGHT_BYTES_MAX = 64 * MIB_BYTES
"""Bytes of commands on their way in the whole process: beyond it memory, not time, would run out."""
ACTOR_BATCH_COMMANDS_MAX = 64
"""Commands decided and appended together: about what arrives during one fsync."""
ACTOR_BATCH_BYTES_MAX = MIB_BYTES
"""A batch of so many bytes takes no further command: sixty large ones together would never fit into the journal."""
ACTOR_STREAMS_MAX = 2_048
"""Streams an actor remembers: some weeks of one developer's prompts, about 1 MiB."""
ACTOR_IDLE_SECONDS = 300.0
"""An actor that has had nothing to do for so long goes; its next command starts a new one."""
ACTOR_RETRIES_MAX = 3
"""How often a refused append is decided again; only a session claimed by two developers at once conflicts."""
DECIDE_AT_ONCE_BYTES_MAX = 4 * KIB_BYTES
"""Before a larger one the others get their turn: sixty of the largest in a row would take a third of a second."""
DECIDE_INLINE_BYTES_MAX = 64 * KIB_BYTES
"""Larger commands are decided in a thread: redacting 4 MiB on the loop would hold up everyone else."""
EVENT_DISK_BYTES = 2 * KIB_BYTES
"""What an event takes on disk besides its texts, in the log and in the views: 10,000 prompts of one line, each the
first of its session, took 53 MB for 20,000 events."""
RESTART_SECONDS_MIN = 0.1
RESTART_SECONDS_MAX = 10.0
"""An actor that broke is started again after this pause, doubled each time; a listener after the shorter one."""

# --- projector and reads --------------------------------------------------------------------------------

PROJECT_INTERVAL_SECONDS = 0.5
"""The projector runs at most this often, and at once when a reader waits: facts are cheaper by the hundred. Of 16
sessions, 16 prompts at a time take four times as long as 500, 128 half as long again, 256 a tenth longer."""
SLICE_SECONDS = 0.005
"""So long the projecting thread works before it looks whether captures wait."""
REST_SECONDS = 0.010
"""So long it rests while they do. At 16 connections 5 ms gave 690 captures a second with a p99 of 107 ms; 15 ms
gave 780 and 36 ms, but views that fall behind sooner."""
NAP_SECONDS = 0.001
"""Parts of a rest: a reader that comes ends it."""
ARRIVING_SECONDS = 0.05
"""So long after a commit captures are said to keep arriving: the next ones are being decoded, an export for 10 ms."""
SWITCH_SECONDS = 0.0005
"""How long Python lets one thread of a server run before another gets its turn. At its usual 5 ms a capture beside the
projector costs a fifth more processor time, and its p99 is up to twice as long."""
GIVE_WAY_SQLITE_STEPS = 1_000
"""Steps of SQLite's machine between two looks at the clock: 0.7 ms apart, at most 5; 500 cost a tenth more."""
READ_PIECES = 10
"""A batch of facts is read from the log in so many pieces: all 500 at once would take 20 ms without a look."""
LAG_EVENTS_MAX = 3_000
"""Views that are so far behind are brought up without rests; that takes two to three seconds."""
USUAL_EVENT_SECONDS = 0.005
"""So much processor time deriving may take for each event before it counts in its developer's budget: by the hundred
events take a fifth of it, alone at the end of a long session twice as much."""
READ_WAIT_SECONDS = 2.0
"""How long a read waits for its caller's own writes to be projected before it answers 503."""
MEND_PAUSE_SECONDS = 3_600.0
"""Damaged views are built anew by the server itself at most this often: that mends no disk that damages them."""
READERS_MAX = 4
"""Reads that run at the same time, each with its own connection to the views."""
CLOCK_POLL_SECONDS = 5.0
"""How often the clock looks whether something is due to settle while the log is quiet."""
ACKNOWLEDGED_MAX = 10_000
"""Developers whose last acknowledged position is remembered while it is not projected yet."""
AHEAD_EVENTS_MAX = 256
"""Events of one developer that the views may lack; the next command waits for them. A quarter of a second of work."""
COMPANY_SECONDS = 60.0
"""So long after others sent something nobody gets farther ahead; one alone may, for nobody waits."""
AHEAD_SECONDS = 1.0
"""How long it waits at most, and is then taken all the same: a hook has five."""
assert FRAME_BYTES_MAX * 2 < FLIGHT_BYTES_MAX, "a full frame can be on its way"
assert ACTOR_BATCH_BYTES_MAX + 2 * FRAME_BYTES_MAX < JOURNAL_BYTES_MAX, "a batch fits, whatever its last command adds"
assert ACTOR_BATCH_COMMANDS_MAX <= COMMIT_APPENDS_MAX, "a full batch is one append among others"
PROJECT_EVENTS_MAX = 500
"""Facts in one transaction of the views: few enough that a waiting reader is served soon; 1,000 gain nothing."""
REPLAY_EVENTS_MAX = 1_000
"""The same where the views are built anew, and nobody reads them yet."""
CHILD_LINE_BYTES_MAX = 64 * KIB_BYTES
"""What is kept of a child process's output while a line is not complete."""
STOP_SECONDS = 3.0
"""How long open requests may take once the server is asked to stop; all is over within 5 s."""
HEADER_BYTES_MAX = 32 * KIB_BYTES
"""A request's line and headers together."""
BODY_PIECES_WAITING_MAX = 1
"""Pieces of a body (64 KiB) that the server reads ahead of a route: a hundred senders at once would stop the others."""
KEEP_ALIVE_REQUESTS_MAX = 1_000
"""Requests over one connection, which is closed with the answer to the last: a client opens another one."""
KEEP_ALIVE_SECONDS = 75.0
"""How long an idle connection is kept: exporters that send every minute reuse theirs."""
UNTAKEN_SECONDS_MAX = 4.0
"""How long a client may leave what it is sent untaken; less than a stop may take."""
BACKLOG_CONNECTIONS = 1_024
"""Connections that wait to be accepted: a whole company's agents may come back at once."""
FILES_MIN = 4_096
"""Fewer open files are told in a warning: each connection is one, and agents keep theirs open."""
REMOTE_TIMEOUT_SECONDS = 60.0
"""How long a command waits for one answer of the running server."""
POLL_SECONDS = 0.25
"""How often a command asks the running server how far a replay is."""
PAGE_RECORDS = 500
"""Records a command asks the running server for at once; the most a listing gives."""
BUSY_TRIES = 12
"""How often a command asks again when the running server says that it is busy: about a minute."""
RETRY_AFTER_SECONDS_MAX = 5.0
"""The longest pause before a command asks again, whatever the answer asks for; svc itself asks for five seconds."""
GC_ALLOCATIONS = 50_000
"""Allocations between two looks of the garbage collector; at its usual 700 it takes a twentieth of the time."""
STATUS_COUNT_SECONDS = 5.0
"""How long `svc status` counts events of each kind before it does without: some ten million."""
HEALTH_SECONDS = 2.0
"""How long a health check waits for a write before it says that the store is unavailable."""
HEALTH_KEPT_SECONDS = 1.0
"""How long a store that could be written counts as one."""

# --- archive --------------------------------------------------------------------------------------------

ARCHIVE_INTERVAL_SECONDS = 300.0
"""How often the archive lane looks for rows that changed: until then they are read from the views."""
ARCHIVE_RETRY_SECONDS_MAX = 3_600.0
"""A lane that broke waits twice as long each time, up to this: what it lags behind is read from the views."""
ARCHIVE_BATCH_ROWS_MAX = 5_000
"""Rows in one file as it is first written, about 250 KiB: some 5 MiB while they are on their way."""
ARCHIVE_ROW_BYTES_MAX = 2 * MIB_BYTES
"""One row as JSON on its way into a file; ids and a model's name make a few hundred bytes."""
ARCHIVE_MEMORY_BYTES_MAX = 128 * MIB_BYTES
"""What the Parquet library may take, beyond which it uses the disk; a usual batch or read takes 25 MiB."""
ARCHIVE_SPILL_BYTES_MAX = 1024 * MIB_BYTES
"""What the Parquet library may put down on disk while it works."""
ARCHIVE_SMALL_ROWS_MAX = 20_000
"""A file with fewer rows is small, and merged with others of its day."""
ARCHIVE_COMPACT_FILES_MIN = 8
"""So many small files of a day are merged: a busy day is then read from about ten files."""
ARCHIVE_COMPACT_FILES_MAX = 64
"""Files merged at once."""
ARCHIVE_COMPACT_ROWS_MAX = 100_000
"""Rows merged at once: they are sorted in memory, which takes a third of a second."""
ARCHIVE_READ_ROWS_MAX = 250_000
"""Rows read in one query of whole days, a third of a second; between two queries a read can be given up."""
assert ARCHIVE_BATCH_ROWS_MAX < ARCHIVE_SMALL_ROWS_MAX, "what is first written is small, so that it is merged"
assert 2 * ARCHIVE_SMALL_ROWS_MAX <= ARCHIVE_COMPACT_ROWS_MAX, "any two small files can be merged"

# --- model catalog --------------------------------------------------------------------------------------

CATALOG_SOURCE_BYTES_MAX = 16 * MIB_BYTES
"""A file of prices, or an answer from the network, unpacked; the maintained data take about 2 MiB."""
CATALOG_FETCH_SECONDS = 45.0
"""How long all of a fetch may take; a command that waits for it waits longer."""
CATALOG_REDIRECTS_MAX = 5
CATALOG_FIRST_REFRESH_SECONDS = 60.0
"""After a start with prices: no haste, and a server that is started again and again asks nobody."""
CATALOG_REFRESH_SECONDS = 24 * 3_600.0
"""List prices change some times a week."""
CATALOG_RETRY_SECONDS = 3_600.0
"""After a refresh that failed."""
CATALOG_COMMANDS_MAX = 16
"""Catalogs and orders to reprice that may wait: each may be 4 MiB, and is asked for by a person."""
assert CATALOG_FETCH_SECONDS < REMOTE_TIMEOUT_SECONDS, "a command sees why a fetch failed"

# --- sign-in provider ---------------------------------------------------------------------------------------

PROVIDER_SECONDS = 10.0
"""How long one answer may take, of three while somebody waits for a page."""
PROVIDER_ANSWER_BYTES_MAX = 256 * KIB_BYTES
"""A description takes some 5 KiB, ten keys 20, an id token with many groups 50."""
PROVIDER_CALLS_MAX = 4
"""At a time: whoever sends made-up codes holds up no thread but these."""
PROVIDER_KNOWN_SECONDS = 3_600.0
"""How long its description and keys are believed to be as they were."""
PROVIDER_KEYS_SECONDS_MIN = 60.0
"""A token of an unknown key has them asked for again, at most so often."""
PROVIDER_LEEWAY_SECONDS = 60
"""By so much the clocks may differ."""

# --- reports --------------------------------------------------------------------------------------------

REPORT_JOBS_MAX = 2
"""Reports that are made at the same time: half of the reads that may run, so that pages are served meanwhile."""
REPORT_LOOK_SECONDS = 60.0
"""How often it is looked whether a report is to be made; who asks for one is attended to at once."""
REPORT_RETRY_SECONDS = 1.0
"""After a look, or an outcome to be stored, that failed because something is unavailable."""
REPORT_SECONDS_MAX = 300.0
"""How long one report may take; a month of ten thousand sub-sessions takes some seconds."""
SCHEDULE_LOOK_SECONDS = 60.0
"""How often it is looked whether a schedule is due."""
SCHEDULE_DELAY_SECONDS = 3_600.0
"""After the end of a period: what was begun in its last minutes settles half an hour after it went quiet."""
NOTICE_LOOK_SECONDS = 30.0
"""How often it is looked whether somebody is to be told of a finished report. The first look comes that late, too: by
then the views of a node that takes the job over hold what the one before has done."""
NOTICE_SECONDS = 20.0
"""How long another server may take to hear of one report."""
NOTICES_MAX = 8
"""At a time: on Monday morning all weekly reports are finished at once."""
NOTICES_WAITING_MAX = 1_000
"""Looked at in one read, the newest of each channel."""
NOTICE_ANSWER_BYTES_MAX = 64 * KIB_BYTES
"""Of what a webhook's receiver answers; nothing of it is used."""
NOTICE_STORE_SECONDS = 60.0
"""How long it is tried to store that somebody was told; then they are told again after the next start."""
BACKFILL_COMMANDS_MAX = 16
"""Backfills that may be asked for at once: each is asked for by a person."""
assert REPORT_JOBS_MAX < READERS_MAX, "reports leave room for other reads"

FIRST_LINK_SECONDS = 600
"""How long the link of a first start waits: whoever starts a server may read its other lines first."""
