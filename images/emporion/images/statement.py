"""Signed statements of what an image is: in-toto in a DSSE envelope, Ed25519 by a key on this machine.

The formats are those of secure-systems-lab/dsse (protocol, version 1) and in-toto attestation v1, so that other tools
verify them too.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
    load_pem_private_key,
    load_pem_public_key,
)

from emporion.market.errors import ExitCode, UserError

__all__ = ["PAYLOAD_TYPE", "key_id", "load_public_key", "opened", "own_key", "pae", "sealed"]

PAYLOAD_TYPE = "application/vnd.in-toto+json"


def pae(payload_type: str, payload: bytes) -> bytes:
    """Return what is signed: the type and the payload, each with its length before it."""
    kind = payload_type.encode()
    return b"DSSEv1 %d %b %d %b" % (len(kind), kind, len(payload), payload)


def key_id(key: Ed25519PublicKey) -> str:
    """Return the name of a key: SHA-256 of its public half."""
    return hashlib.sha256(key.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)).hexdigest()


def own_key(folder: Path) -> Ed25519PrivateKey:
    """Return the signing key of a folder, made when there is none; its public half lies beside it.

    Raises: UserError E-KEY-FILE: when it cannot be read or made.
    """
    path = folder / "images.pem"
    try:
        if not path.exists():
            _make_key(folder, path)
        key = load_pem_private_key(path.read_bytes(), password=None)
    except (OSError, ValueError) as error:
        raise UserError(
            "E-KEY-FILE", f"the signing key cannot be used: {error}", str(path), "see who owns it"
        ) from None
    if not isinstance(key, Ed25519PrivateKey):
        raise UserError("E-KEY-FILE", "the signing key is not Ed25519", str(path), "move it away: a new one is made")
    return key


def _make_key(folder: Path, path: Path) -> None:
    key = Ed25519PrivateKey.generate()
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    private = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    with os.fdopen(handle, "wb") as file:
        file.write(private)
    public = key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    path.with_suffix(".pub").write_bytes(public)


def load_public_key(path: Path) -> Ed25519PublicKey:
    """Return a public key of a PEM file. Raises: UserError E-KEY-FILE: when it holds none that is Ed25519."""
    try:
        key = load_pem_public_key(path.read_bytes())
    except (OSError, ValueError) as error:
        raise UserError("E-KEY-FILE", f"the key cannot be read: {error}", str(path), "name a PEM file") from None
    if not isinstance(key, Ed25519PublicKey):
        raise UserError("E-KEY-FILE", "the key is not Ed25519", str(path), "name the signer's images.pub")
    return key


def sealed(statement: Mapping[str, Any], key: Ed25519PrivateKey) -> dict[str, Any]:
    """Return the envelope of a statement, signed."""
    payload = json.dumps(statement, sort_keys=True, separators=(",", ":")).encode()
    signature = key.sign(pae(PAYLOAD_TYPE, payload))
    signed = {"keyid": key_id(key.public_key()), "sig": base64.b64encode(signature).decode()}
    return {"payloadType": PAYLOAD_TYPE, "payload": base64.b64encode(payload).decode(), "signatures": [signed]}


def opened(envelope: object, key: Ed25519PublicKey, where: str) -> dict[str, Any]:
    """Return the statement of an envelope that a key has signed.

    Raises: UserError E-STATEMENT: when it is no envelope, or the key has not signed it (exit code 3).
    """
    try:
        kind, payload, signatures = _parts(envelope)
    except (KeyError, TypeError, ValueError, binascii.Error):
        raise UserError(
            "E-STATEMENT", "this is no DSSE envelope", where, "name the file that the build wrote"
        ) from None
    if kind != PAYLOAD_TYPE:
        raise UserError("E-STATEMENT", f"the envelope holds {kind!r}, not {PAYLOAD_TYPE}", where)
    if not any(_signed(key, signature, pae(kind, payload)) for signature in signatures):
        what = f"the statement is not signed by the key {key_id(key)[:16]}"
        raise UserError(
            "E-STATEMENT", what, where, "do not use the image, or name its signer's key", ExitCode.INFEASIBLE
        )
    statement: dict[str, Any] = json.loads(payload)
    return statement


def _parts(envelope: Any) -> tuple[str, bytes, list[bytes]]:  # noqa: ANN401 - whatever a file holds
    payload = base64.b64decode(envelope["payload"], validate=True)
    return str(envelope["payloadType"]), payload, [base64.b64decode(one["sig"]) for one in envelope["signatures"]]


def _signed(key: Ed25519PublicKey, signature: bytes, message: bytes) -> bool:
    try:
        key.verify(signature, message)
    except InvalidSignature:
        return False
    return True
