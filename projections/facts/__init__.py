"""Facts: each event becomes rows."""
