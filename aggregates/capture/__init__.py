"""Prompts, responses and telemetry of agents, as commands and events."""
