"""Cut OTLP JSON into records and say what each means."""
