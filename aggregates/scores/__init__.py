"""Scores: grades, peers, integrity, throttle and insights."""
