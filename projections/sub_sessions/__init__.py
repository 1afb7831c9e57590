"""Read sub-sessions: lists, details, overrides."""
