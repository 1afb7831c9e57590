"""Read telemetry: records and use."""
