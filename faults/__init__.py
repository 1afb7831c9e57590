"""Faults put to the real program: what breaks under it, and what must hold all the same. `python -m faults`."""
