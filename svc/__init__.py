"""The process: settings, commands, the store, actors, the projector and the composition root."""

__version__ = "0.1.0"
