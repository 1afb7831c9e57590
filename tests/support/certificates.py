"""A certificate that nobody but the test trusts."""

from datetime import UTC, datetime, timedelta
from ipaddress import IPv4Address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID


def self_signed(folder: Path, address: str = "127.0.0.1") -> tuple[Path, Path]:
    """A certificate for an address of this machine, and its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "svc")])
    now = datetime(2026, 1, 1, tzinfo=UTC)
    builder = x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
    signed = (
        builder.not_valid_before(now)
        .not_valid_after(now + timedelta(days=36500))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(IPv4Address(address))]), critical=False)
    )
    files = folder / "cert.pem", folder / "key.pem"
    files[0].write_bytes(signed.sign(key, hashes.SHA256()).public_bytes(Encoding.PEM))
    files[1].write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    return files
