"""What the process counts, measures and logs."""
