"""The process: settings, log, actors, projector, jobs and commands."""

# The version that comes next. A release is a tag of it, `v0.1.0`; then this is raised. The build reads the line.
NEXT = "0.1.0"
try:
    with open(f"{__path__[0]}/cli/version.txt", encoding="ascii") as written:  # by the build
        __version__ = written.read().strip()
except OSError:  # in a tree that nothing was built of
    __version__ = f"{NEXT}.dev0"
