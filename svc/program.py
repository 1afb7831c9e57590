"""How this very program is started again, as a child of itself."""

import sys


def program() -> list[str]:
    """The command that runs it: the one-file binary, or the package under Python."""
    return [sys.executable] if getattr(sys, "frozen", False) else [sys.executable, "-m", "svc"]
