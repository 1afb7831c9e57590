"""docs/demo.svg, from what `svc demo` shows: `python -m tests.support.picture`."""

import os
import re
import subprocess
import sys
from io import StringIO
from pathlib import Path

from rich.console import Console
from rich.text import Text

COLUMNS = 110
PICTURE = Path(__file__).parents[2] / "docs" / "demo.svg"
_FONTS = re.compile(r"\s*@font-face \{.*?\}", re.DOTALL)


def main() -> None:
    wide = {**os.environ, "COLUMNS": str(COLUMNS), "FORCE_COLOR": "1", "TERM": "xterm-256color"}
    shown = subprocess.run([sys.executable, "-m", "svc", "demo"], env=wide, capture_output=True, text=True, check=True)
    console = Console(record=True, width=COLUMNS, file=StringIO())
    console.print(Text.from_ansi(shown.stdout))
    PICTURE.write_text(drawn(console, "svc demo"), encoding="utf-8")


def drawn(console: Console, title: str) -> str:
    """What a recording console showed as SVG, in whatever font its reader has: a picture fetches nothing."""
    return _FONTS.sub("", console.export_svg(title=title))


if __name__ == "__main__":
    main()
