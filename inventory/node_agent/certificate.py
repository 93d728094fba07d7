"""The node's key and certificate: made on the node by openssl, signed by itself, pinned by the portal when it joins."""

import os
import ssl
import subprocess
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory

# Nobody checks dates where the fingerprint is pinned; a certificate ends by joining anew.
VALID_DAYS = 3650
OPENSSL_TIMEOUT_S = 60
REQUEST = ("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-subj", "/CN=allot")


class NoCertificate(Exception):
    """No certificate can be made here; the text says what to install."""


def make_certificate(pem: Path) -> None:
    """`pem` holds a new key and its certificate, for root alone. Raises NoCertificate, OSError."""
    with TemporaryDirectory(dir=pem.parent) as scratch:
        key, certificate = Path(scratch) / "key", Path(scratch) / "certificate"
        told = (*REQUEST, "-days", str(VALID_DAYS), "-keyout", str(key), "-out", str(certificate))
        try:
            subprocess.run(["openssl", *told], check=True, capture_output=True, timeout=OPENSSL_TIMEOUT_S)
        except FileNotFoundError as error:
            raise NoCertificate("there is no openssl here: apt-get install openssl") from error
        except subprocess.SubprocessError as error:
            said = getattr(error, "stderr", None) or b""
            raise NoCertificate(f"openssl made no certificate: {said.decode(errors='replace').strip()}") from error
        fresh = Path(scratch) / "both"
        fresh.touch(mode=0o600)
        with fresh.open("w") as file:
            file.write(key.read_text() + certificate.read_text())
            file.flush()
            os.fsync(file.fileno())
        fresh.replace(pem)


def fingerprint(pem: Path) -> str:
    """SHA-256 of the certificate in the file, 64 hex digits: what the portal pins. Raises OSError, ValueError."""
    text = pem.read_text()
    start = text.index(ssl.PEM_HEADER)
    return sha256(ssl.PEM_cert_to_DER_cert(text[start:])).hexdigest()
