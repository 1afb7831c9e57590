"""OTLP JSON, read into commands: bytes in, records and points out. All of it is pure.

`envelope` cuts an export into single records. `otlp` decodes a record, `source_ids` names it, `vocabulary` says what it
means by the words of its agent, `batches` puts the records of one agent session into a command, `export` does it all.
"""
