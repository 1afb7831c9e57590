"""Where `svc` starts. A hook goes past the command line: an agent waits for it, and importing that takes a second."""

import os
import sys


def main() -> None:
    """Run what was typed. Whatever it writes is for its user alone: there are texts and keys in it."""
    os.umask(0o077)
    if sys.argv[1:2] == ["hook"] and not {"-h", "--help"} & set(sys.argv):
        from svc.hook.main import call

        call(sys.argv[2:])
    else:
        try:
            from svc.cli import main as commands

            commands()
        except KeyboardInterrupt:  # while modules are imported: a command that runs says so itself
            sys.exit("Aborted!")


if __name__ == "__main__":
    main()
