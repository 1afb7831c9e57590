"""The process: settings, log, actors, projector, jobs and commands."""

# The version that comes next. A release is a tag of it, `v0.1.0`; then this is raised. The build reads the line.
NEXT = "0.1.0"


def _version() -> str:
    """What the build wrote; in a tree that nothing was built of, the next version, unreleased."""
    place = f"{__path__[0]}/cli/version.txt"
    try:
        with open(place, encoding="ascii") as written:
            return written.read().strip()
    except OSError:
        return f"{NEXT}.dev0"


__version__ = _version()
