"""Claude Code's own transcripts (JSONL), read into prompts, answers and records.

`lines` decodes one line, `typed` says what a person typed, `exchanges` puts a transcript together: all of it is
pure, bytes in, values out. `files` says where the transcripts are.
"""
