"""Explain each verdict of a sub-session with its evidence."""
