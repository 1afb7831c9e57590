"""The command line: one module per family of commands."""

from svc.cli.group import main

__all__ = ["main"]
