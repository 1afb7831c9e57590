"""A wheel of svc itself, made of the files that run here: other machines install it from the server."""

import zipfile
from base64 import urlsafe_b64encode
from functools import cache
from hashlib import sha256
from importlib.metadata import PackageNotFoundError, distribution
from importlib.util import find_spec
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from svc_http.ports import ClientSetup, Wheel

DISTRIBUTION = "coding-agent-mirror"
_PACKAGES = ("aggregates", "projections", "svc", "svc_http")
_ALL_READ = 0o644 << 16


@cache
def client_setup(url: str) -> "ClientSetup":
    """With what another machine sends to this intake. Takes a second."""
    from svc.connect.agents import to_paste  # late: a server starts without what changes settings
    from svc_http.ports import ClientSetup, Pasted

    return ClientSetup(made_here(), [Pasted(*each) for each in to_paste(url)])


def made_here() -> "Wheel | None":
    """The same bytes whenever it is made of the same files; None in the one-file program."""
    from svc_http.ports import Wheel

    try:
        known = distribution(DISTRIBUTION)
    except PackageNotFoundError:
        return None
    name, members = f"{DISTRIBUTION.replace('-', '_')}-{known.version}", dict[str, bytes]()
    for package in _PACKAGES:
        found = find_spec(package)
        assert found is not None
        assert found.origin is not None, "it runs here"
        folder = Path(found.origin).parent
        for file in folder.rglob("*"):
            if file.is_file() and "__pycache__" not in file.parts:
                members[f"{package}/{file.relative_to(folder).as_posix()}"] = file.read_bytes()
    licences = [each.as_posix().partition(".dist-info/")[2] for each in known.files or () if "licenses" in each.parts]
    for each in ("METADATA", "WHEEL", "entry_points.txt", *licences):
        members[f"{name}.dist-info/{each}"] = (known.read_text(each) or "").encode()
    members = dict(sorted(members.items()))
    record = f"{name}.dist-info/RECORD"
    digests = {path: urlsafe_b64encode(sha256(data).digest()).decode().rstrip("=") for path, data in members.items()}
    lines = [f"{path},sha256={digests[path]},{len(data)}\n" for path, data in members.items()]
    members[record] = "".join([*lines, f"{record},,\n"]).encode()
    buffer = BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as packed:
        for path, data in members.items():
            member = zipfile.ZipInfo(path)  # of 1980, whenever it is made
            member.compress_type, member.external_attr = zipfile.ZIP_DEFLATED, _ALL_READ
            packed.writestr(member, data)
    return Wheel(f"{name}-py3-none-any.whl", buffer.getvalue(), sha256(buffer.getvalue()).hexdigest())
