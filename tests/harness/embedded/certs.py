# SPDX-License-Identifier: Apache-2.0
"""Certificates and kubeconfigs of one run: an authority, what it signs, and the service account key.

Called by controlplane and node. P-256 keys: an RSA key takes longer to make than a node to start.
"""

from __future__ import annotations

import base64
import datetime
import ipaddress
import json
import os
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

VALID = datetime.timedelta(days=365)


def write_private(path: Path, data: bytes | str) -> Path:
    """A file that only its owner can read, complete or absent."""
    unfinished = path.with_name(f".{path.name}.{os.getpid()}")
    handle = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(handle, "wb") as out:
        out.write(data.encode() if isinstance(data, str) else data)
    unfinished.rename(path)
    return path


def _pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.TraditionalOpenSSL, serialization.NoEncryption()
    )


def _name(common: str, organization: str | None) -> x509.Name:
    parts = [x509.NameAttribute(NameOID.COMMON_NAME, common)]
    if organization:
        parts.append(x509.NameAttribute(NameOID.ORGANIZATION_NAME, organization))
    return x509.Name(parts)


@dataclass(frozen=True)
class Pair:
    certificate: bytes
    key: bytes


class Authority:
    """The run's certificate authority. It is read again when a node joins later."""

    def __init__(self, certificate: bytes, key: bytes):
        self.certificate, self.key = certificate, key
        self._certificate = x509.load_pem_x509_certificate(certificate)
        self._key = serialization.load_pem_private_key(key, None)

    @classmethod
    def create(cls) -> Authority:
        key = ec.generate_private_key(ec.SECP256R1())
        name = _name("gpu-sim", None)
        builder = _builder(name, name, key.public_key()).add_extension(x509.BasicConstraints(True, None), critical=True)
        usage = x509.KeyUsage(True, False, False, False, False, True, True, False, False)
        builder = builder.add_extension(usage, critical=True)
        signed = builder.sign(key, hashes.SHA256())
        return cls(signed.public_bytes(serialization.Encoding.PEM), _pem(key))

    @classmethod
    def load(cls, folder: Path) -> Authority:
        return cls((folder / "ca.crt").read_bytes(), (folder / "ca.key").read_bytes())

    def save(self, folder: Path) -> None:
        write_private(folder / "ca.key", self.key)
        write_private(folder / "ca.crt", self.certificate)

    def issue(self, common: str, organization: str | None = None, names: tuple[str, ...] = ()) -> Pair:
        """A certificate for server and client use; `names` are DNS names and addresses."""
        key = ec.generate_private_key(ec.SECP256R1())
        builder = _builder(_name(common, organization), self._certificate.subject, key.public_key())
        builder = builder.add_extension(x509.BasicConstraints(False, None), critical=True)
        both = x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH])
        builder = builder.add_extension(both, critical=False)
        if names:
            builder = builder.add_extension(x509.SubjectAlternativeName([_alternative(n) for n in names]), False)
        signed = builder.sign(self._key, hashes.SHA256())
        return Pair(signed.public_bytes(serialization.Encoding.PEM), _pem(key))


def _builder(subject: x509.Name, issuer: x509.Name, public) -> x509.CertificateBuilder:
    now = datetime.datetime.now(datetime.UTC)
    builder = x509.CertificateBuilder().subject_name(subject).issuer_name(issuer).public_key(public)
    builder = builder.serial_number(x509.random_serial_number())
    return builder.not_valid_before(now - datetime.timedelta(hours=1)).not_valid_after(now + VALID)


def _alternative(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        return x509.DNSName(name)


def service_account_key() -> Pair:
    """(public key, private key) that sign and verify service account tokens."""
    key = ec.generate_private_key(ec.SECP256R1())
    public = key.public_key().public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    return Pair(public, _pem(key))


def kubeconfig(server: str, authority: bytes, pair: Pair, name: str) -> str:
    """A kubeconfig with everything inside; JSON, which is YAML too."""

    def inline(data: bytes) -> str:
        return base64.b64encode(data).decode()

    return json.dumps(
        {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": name,
            "clusters": [
                {"name": name, "cluster": {"server": server, "certificate-authority-data": inline(authority)}}
            ],
            "users": [
                {
                    "name": name,
                    "user": {
                        "client-certificate-data": inline(pair.certificate),
                        "client-key-data": inline(pair.key),
                    },
                }
            ],
            "contexts": [{"name": name, "context": {"cluster": name, "user": name}}],
        },
        indent=1,
    )
