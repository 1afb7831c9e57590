"""What agents did, in one vocabulary."""
