"""OTLP JSON, read into commands: bytes in, records and points out. All of it is pure.

`splitting` cuts an export into single records. `otlp` decodes a record as OTLP's JSON mapping has it, `source_ids`
names it, `vocabulary` says what it means by the words of the agent that sent it, `batches` puts the records of one
agent session into a command.
"""
