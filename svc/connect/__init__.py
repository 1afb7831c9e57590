"""Change an agent's settings, show the change, and undo it."""
