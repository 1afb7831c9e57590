"""Codex's own session files (rollouts, JSONL), read into prompts, answers and records.

`lines` decodes one line, `items` keeps what a later line completes, `forks` tells what a file repeats of its parent,
`exchanges` puts a rollout together: all of it is pure, bytes in, values out. `files` says where the rollouts are.
"""
