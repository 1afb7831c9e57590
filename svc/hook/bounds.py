"""Every bound of a hook call, with its reason. Not in `svc.limits`, which imports more than a hook has time for."""

KIB_BYTES = 1024
MIB_BYTES = 1024 * KIB_BYTES

# --- time -----------------------------------------------------------------------------------------------

EXIT_SECONDS = 1.7
"""When the process ends whatever it is doing, so that all of it, the interpreter's start included, stays below 2 s."""

DELIVER_SECONDS = 1.2
"""Until when something is sent. What is left stays in the outbox."""

DELIVER_AT_END_SECONDS = 0.7
"""The same for a session's end: Claude Code gives all hooks 1.5 s together then."""

UNPACK_SECONDS = 0.3
"""What the one-file program takes of all this before it begins: it unpacks itself."""

LATE_SECONDS = 0.1
"""For a note that the server did not answer in time."""

PAUSE_SECONDS = 30.0
"""How long nothing is sent after a server did not answer in time: only one prompt in a while waits for a hung one."""

assert DELIVER_AT_END_SECONDS < DELIVER_SECONDS < EXIT_SECONDS < EXIT_SECONDS + LATE_SECONDS < 2.0

# --- what is read ---------------------------------------------------------------------------------------

INPUT_BYTES_MAX = 16 * MIB_BYTES
"""A hook's input; a tool's output in it is the largest part."""

TRANSCRIPT_TAIL_BYTES_MAX = MIB_BYTES
"""How much of a transcript's end is read for the agent's last message."""

# --- what is sent ---------------------------------------------------------------------------------------

TEXT_BYTES_MAX = 512 * KIB_BYTES
"""What a prompt and an answer are cut to, unless the server asks for less: it fits one frame however it is escaped."""

TOOL_INPUT_BYTES_MAX = 256 * KIB_BYTES
"""A tool call's input as JSON; of a larger one the long texts are cut."""

TOOL_TEXT_CHARACTERS_MAX = 1_000
"""What a long text of such an input is cut to: a path or the beginning of a command still stands in it."""

MILLISECONDS_MAX = 2**53
"""A longer duration is none: no number of JSON is exact beyond."""

ID_CHARACTERS_MAX = 1_024
CWD_CHARACTERS_MAX = 32_767

ANSWER_BYTES_MAX = 64 * KIB_BYTES
"""How much of a server's answer is read."""

# --- outbox ---------------------------------------------------------------------------------------------

OUTBOX_FILES_MAX = 2_000
OUTBOX_BYTES_MAX = 64 * MIB_BYTES
OUTBOX_SECONDS_MAX = 14 * 86_400.0
"""Beyond any of these the oldest captures are given up and counted: some days of work without a server."""

DEAD_LETTERS_MAX = 100
"""How many captures that a server refused for good are remembered, without their texts."""

SESSION_SECONDS_MAX = 14 * 86_400.0
"""How long it is remembered which prompt of a session is without an answer."""
