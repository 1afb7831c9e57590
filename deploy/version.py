"""The version of what is built: the tag of this commit, or a development version of the next one.

Read by the build (`[tool.hatch.version]` in pyproject.toml). A source archive tells its version in
PKG-INFO; a folder without git and without that is of the next version, unreleased.
"""

import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TAG = re.compile(r"v(\d+\.\d+\.\d+(?:(?:a|b|rc)\d+)?)")


def version() -> str:
    """As PEP 440 writes it: 0.2.0 at the tag v0.2.0, else 0.3.0.dev5+gabc1234 for the 0.3.0 that comes next."""
    if (ROOT / "PKG-INFO").exists():
        found = re.search(r"^Version: (\S+)$", (ROOT / "PKG-INFO").read_text(encoding="utf-8"), re.MULTILINE)
        assert found is not None, "PKG-INFO names a version"
        return found[1]
    coming = re.search(r'^NEXT = "([^"]+)"$', (ROOT / "svc" / "__init__.py").read_text(encoding="utf-8"), re.MULTILINE)
    assert coming is not None, "svc/__init__.py names the next version"
    if not (ROOT / ".git").exists():  # a git further up is another project's
        return f"{coming[1]}.dev0"
    tags = _git("tag", "--points-at", "HEAD").split()
    released = [match[1] for tag in tags if (match := TAG.fullmatch(tag)) is not None]
    if released:
        return released[0]
    commit = _git("rev-parse", "--short=10", "HEAD").strip()
    if not commit:
        return f"{coming[1]}.dev0"
    return f"{coming[1]}.dev{_since(_git('describe', '--tags', '--long', '--match', 'v*'))}+g{commit}"


def _since(described: str) -> str:
    """How many commits lie after the newest tag; all there are where there is none."""
    found = re.fullmatch(r"v.*-(\d+)-g[0-9a-f]+", described.strip())
    return found[1] if found is not None else _git("rev-list", "--count", "HEAD").strip()


def _git(*arguments: str) -> str:
    """What git says; nothing where it fails or is not there."""
    try:
        return subprocess.run(
            ["git", "-C", str(ROOT), *arguments], capture_output=True, text=True, check=False, timeout=30
        ).stdout
    except OSError:
        return ""
