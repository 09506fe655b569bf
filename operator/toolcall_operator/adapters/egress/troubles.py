"""What is said of a request that came to nothing: the host and the kind of trouble, in our words and in no others."""

from __future__ import annotations

import socket
import ssl
from collections.abc import Iterator

import httpcore

from toolcall_operator import errors
from toolcall_operator.core.exchange import Origin

EXPECTED = (httpcore.NetworkError, httpcore.ProtocolError, httpcore.TimeoutException, OSError)
"""What the libraries raise when the network or the server is to blame; their texts may hold anything."""

TOO_LATE = "no whole answer came in time"

_EXPIRED = 10  # https://docs.openssl.org/3.0/man3/X509_STORE_CTX_get_error/
_NAMES_ANOTHER = frozenset({62, 64})  # a host and an address

_KINDS: tuple[tuple[type[BaseException], str], ...] = (
    (ssl.SSLError, "TLS with it fails"),
    (ConnectionRefusedError, "it refuses connections"),
    (socket.gaierror, "no address of that name can be found"),
    (TimeoutError, TOO_LATE),
    (httpcore.TimeoutException, TOO_LATE),
    (httpcore.ProtocolError, "its answer is not whole, or not HTTP"),
    (httpcore.ConnectError, "there is no way to it, or it hangs up at once"),
    (httpcore.NetworkError, "the connection broke"),
    (OSError, "there is no way to it"),
)


def denied(origin: Origin, objection: str) -> errors.Denied:
    """The refusal to speak to an origin."""
    return errors.Denied(f"nothing is sent to {errors.foreign(origin.host)}: {objection}")


def unavailable(origin: Origin, trouble: str) -> errors.Unavailable:
    """The error of an origin that gave no whole answer."""
    return errors.Unavailable(f"{errors.foreign(origin.host)} cannot be asked now: {trouble}")


def told(error: BaseException) -> str:
    """The kind of trouble of which one of the expected errors speaks."""
    chain = tuple(_causes(error))
    for cause in chain:
        if isinstance(cause, ssl.SSLCertVerificationError):
            return _certificate(cause)
    return next(words for kind, words in _KINDS if any(isinstance(cause, kind) for cause in chain))


def _certificate(error: ssl.SSLCertVerificationError) -> str:
    if error.verify_code in _NAMES_ANOTHER:
        return "its certificate is for another name"
    return "its certificate has expired" if error.verify_code == _EXPIRED else "its certificate is not trusted"


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__
