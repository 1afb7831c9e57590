"""The program that an agent's hooks call; it imports the standard library only, so it starts quickly."""
