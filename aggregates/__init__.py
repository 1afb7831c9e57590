"""Facts and rules.

Everything here is pure: events, `decide` and `evolve` for each stream, and the rules that turn facts into
conclusions. No clock, no randomness, no environment, no input or output: those enter as arguments.
"""
