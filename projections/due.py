"""What is due to settle once time has passed."""

import sqlite3


def next_due_us(db: sqlite3.Connection) -> int | None:
    """The earliest time at which an open sub-session settles if nothing more happens; None where none is open."""
    query = "SELECT min(s.settles_at_us) FROM bookmark b JOIN sub_sessions s ON s.settles_at_us > b.log_time_us"
    due_us: int | None = db.execute(query).fetchone()[0]
    return due_us
