"""Actors: one a developer; each decides, appends and replies."""
