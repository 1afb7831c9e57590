"""The Gemini CLI's own session files, read into prompts, answers and records.

`messages` decodes a document or its lines, `items` makes records of a message, `exchanges` puts a session together: all
of it is pure, bytes in, values out. `files` says where the sessions are.
"""
