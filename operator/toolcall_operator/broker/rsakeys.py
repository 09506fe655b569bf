"""RSA keys that somebody else keeps, read in a time that nobody else notices."""

from __future__ import annotations

import math

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey

from toolcall_operator.core.credentials.values import Hidden

LONGEST_PEM = 4096
"""Bytes: room for a key of 4,096 bits, in either form."""


def private_key(pem: Hidden) -> RSAPrivateKey | None:
    """The key, if it is one; whatever a library says of it may be part of it, and ends here.

    The library's own check that a key is valid holds the interpreter, in any thread: measured 0.04 s for 2,048 bits,
    0.3 s for 4,096, 6 s for 8,192. It looks for primes, without which a signature is merely wrong. What else could make
    OpenSSL stumble are numbers that do not belong together: those are looked at here.
    """
    text = pem.reveal()
    if len(text) > LONGEST_PEM:
        return None
    try:
        key = serialization.load_pem_private_key(text.encode(), None, unsafe_skip_rsa_key_validation=True)
        return key if isinstance(key, RSAPrivateKey) and _belong_together(key) else None
    except Exception:  # noqa: BLE001 (its text may show the key)
        return None


def _belong_together(key: RSAPrivateKey) -> bool:
    """Whether these numbers are a key: https://www.rfc-editor.org/rfc/rfc8017#section-3.2."""
    numbers = key.private_numbers()
    p, q, d, n, e = numbers.p, numbers.q, numbers.d, numbers.public_numbers.n, numbers.public_numbers.e
    factors = p * q == n and p % 2 == q % 2 == 1
    exponents = d * e % math.lcm(p - 1, q - 1) == 1
    return factors and exponents and (numbers.dmp1, numbers.dmq1, numbers.iqmp * q % p) == (d % (p - 1), d % (q - 1), 1)
