"""The life of a report, its period and its narrative; backfills."""
