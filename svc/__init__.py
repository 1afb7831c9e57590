"""The process: settings, log, actors, projector, jobs and commands."""

__version__ = "0.1.0"
