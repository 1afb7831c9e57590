"""Read the sections of reports and the summaries of days."""
