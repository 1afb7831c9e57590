"""Grades, peers, integrity, throttling and insights."""
