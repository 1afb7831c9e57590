"""Derive turns, arcs and sub-sessions from the rows of facts."""
