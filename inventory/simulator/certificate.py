"""The certificate of a simulated fleet: made once, signed by itself, kept in the state folder."""

import os
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from ipaddress import IPv4Address
from pathlib import Path
from tempfile import TemporaryDirectory

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

# A demo's state folder must not die of age; nobody checks dates where the fingerprint is pinned.
VALID_DAYS = 3650


@dataclass(frozen=True, slots=True)
class Certificate:
    """`pem`: key and certificate in one file. `sha256`: what the portal pins, 64 hex digits."""

    pem: Path
    sha256: str


def certificate_in(folder: Path) -> Certificate:
    """The fleet's certificate, made now if the folder has none; two callers at once get the same."""
    pem = folder / "node.pem"
    if not pem.exists():
        folder.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(dir=folder) as scratch:
            fresh = Path(scratch) / "fresh.pem"
            fresh.touch(mode=0o600)
            fresh.write_bytes(_make())
            # A link appears whole or not at all, and never replaces one that is there.
            with suppress(FileExistsError):
                os.link(fresh, pem)
    certificate = x509.load_pem_x509_certificate(pem.read_bytes())
    return Certificate(pem, sha256(certificate.public_bytes(Encoding.DER)).hexdigest())


def _make() -> bytes:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "simulated node")])
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=VALID_DAYS))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(IPv4Address("127.0.0.1"))]), critical=False)
        .sign(key, SHA256())
    )
    private = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    return private + certificate.public_bytes(Encoding.PEM)
