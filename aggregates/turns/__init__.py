"""Turns: captures and observations of one session, joined."""
