"""Whose certificates are believed."""

from __future__ import annotations

import ssl
from pathlib import Path

from toolcall_operator import errors


def context(ca: Path | None) -> ssl.SSLContext:
    """TLS 1.2 or later with the system's CAs, and those in the file `ca` beside them; names are always verified.

    Where the system's CAs are is what OpenSSL was built with. Variables of the environment move nothing, and no
    session keys are written anywhere, as SSLKEYLOGFILE would have it (`ssl.create_default_context` obeys both).

    Raises:
        Unavailable: the file cannot be read, or holds no certificate.
    """
    made = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    made.minimum_version = ssl.TLSVersion.TLSv1_2
    made.set_alpn_protocols(["http/1.1"])
    system = ssl.get_default_verify_paths()
    _believe(made, Path(system.openssl_cafile), Path(system.openssl_capath))
    if ca is not None:
        try:
            made.load_verify_locations(cafile=ca)
        except OSError as error:  # ssl.SSLError is one
            raise errors.Unavailable(f"the CAs in {ca} cannot be used: {type(error).__name__}") from error
    return made


def _believe(made: ssl.SSLContext, file: Path, folder: Path) -> None:
    if file.is_file():
        made.load_verify_locations(cafile=file)
    if folder.is_dir():
        made.load_verify_locations(capath=folder)
