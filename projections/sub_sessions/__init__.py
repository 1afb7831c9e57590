"""Read sub-sessions: the list, one in detail, overrides."""
