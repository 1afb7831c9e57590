"""Where `svc` starts."""

from svc.cli import main

__all__ = ["main"]
