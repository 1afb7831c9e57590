"""What an agent's hooks call: the standard library only, for the agent waits while it is imported."""
