"""The command line, one module for each family of commands."""

from svc.cli.group import main

__all__ = ["main"]
