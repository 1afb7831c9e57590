"""Read telemetry: records and their sums."""
