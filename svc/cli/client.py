"""`svc client`: one file for machines without a server."""

from pathlib import Path

import click

from svc.cli import Command
from svc.cli.common import say, sentences
from svc.connect.client import NAME, NotHere, archive
from svc.hook.machine import replace_file


@click.command(cls=Command, example="svc client && python3 svc-client.pyz --help")
@click.argument("path", type=click.Path(path_type=Path, dir_okay=False), default=NAME)
@sentences(also=(NotHere,))
def client(path: Path) -> None:
    """Write svc-client.pyz: connect, doctor, hook, import, score.

    One file of plain Python, for machines that have Python 3.11 or newer and nothing else. The server's pages offer the
    same file.
    """
    made = archive()
    replace_file(path.absolute(), made.data)
    path.chmod(0o755)
    say(f"{path}: {len(made.data):,} bytes, SHA-256 {made.sha256}")
