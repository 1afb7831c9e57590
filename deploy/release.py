"""Gathers what `make release` built into dist/release, with an image where a tool makes one, and the sums of all.

Nothing is uploaded. A file is named by what it is, its version and its platform.
"""

import hashlib
import platform
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
RELEASE = ROOT / "dist" / "release"
SUMS = "SHA256SUMS"
IMAGE_TOOLS = ("podman", "docker")


def main() -> None:
    """Gather what is in build/ and dist/."""
    shutil.rmtree(RELEASE, ignore_errors=True)
    RELEASE.mkdir(parents=True)
    for package in sorted((ROOT / "build" / "packages").iterdir()):
        shutil.copy2(package, RELEASE)
    one_file, folder = ROOT / "dist" / "svc", ROOT / "build" / "onedir" / "svc"
    version = subprocess.run([one_file, "--version"], capture_output=True, text=True, check=True).stdout.split()[-1]
    name = f"svc-{version}-{sys.platform}-{platform.machine()}"
    shutil.copy2(one_file, RELEASE / name)
    with tarfile.open(RELEASE / f"{name}.tar.gz", "w:gz") as archive:
        archive.add(folder, arcname=name)
    _image(f"svc-{version}-image.tar", version)
    files = sorted(path for path in RELEASE.iterdir())
    lines = []
    for path in files:
        with path.open("rb") as data:
            lines.append(f"{hashlib.file_digest(data, 'sha256').hexdigest()}  {path.name}\n")
        print(f"{path.stat().st_size / 1e6:8.1f} MB  {path.name}")
    (RELEASE / SUMS).write_text("".join(lines), encoding="ascii")
    print(f"{RELEASE} holds {len(files)} files; `sha256sum -c {SUMS}` there checks them")


def _image(file: str, version: str) -> None:
    """The container image as a file, by the first tool that works here."""
    for tool in filter(shutil.which, IMAGE_TOOLS):
        if subprocess.run([tool, "info"], capture_output=True, check=False).returncode != 0:
            continue
        tag = f"svc:{version.replace('+', '-')}"
        build = [tool, "build", "-f", "deploy/Containerfile", "--build-arg", f"VERSION={version}", "-t", tag, "."]
        made = subprocess.run(build, cwd=ROOT, check=False)
        if made.returncode == 0:
            subprocess.run([tool, "save", "--output", str(RELEASE / file), tag], check=True)
            return
    print(f"no container image: neither {' nor '.join(IMAGE_TOOLS)} works on this machine")


if __name__ == "__main__":
    main()
