"""What the transcripts of every agent have in common: reading lines, exchanges, and the captures made of them.

An agent's own package (`svc/claude_code`, `svc/codex`, `svc/gemini`) knows its format and nothing else.
"""
