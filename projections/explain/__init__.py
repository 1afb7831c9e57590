"""Explain one sub-session: every verdict with its evidence."""
