"""Keys of others are read at once, whatever they are, and no key shows in what is said of it."""

from __future__ import annotations

import base64
import math
import random
import time
from collections.abc import Callable

import pytest
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa

from toolcall_operator.broker import rsakeys
from toolcall_operator.core.credentials.values import Hidden

KEY = rsa.generate_private_key(public_exponent=65537, key_size=2048)
FORMS = (serialization.PrivateFormat.TraditionalOpenSSL, serialization.PrivateFormat.PKCS8)


def pem(key: rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey, form: serialization.PrivateFormat = FORMS[0]) -> Hidden:
    text = key.private_bytes(serialization.Encoding.PEM, form, serialization.NoEncryption())
    return Hidden(text.decode())


def of_numbers(*numbers: int) -> Hidden:
    """A key of these numbers: https://www.rfc-editor.org/rfc/rfc8017#appendix-A.1.2."""
    body = b"".join(_der(2, each.to_bytes(each.bit_length() // 8 + 1, signed=True)) for each in (0, *numbers))
    text = base64.encodebytes(_der(0x30, body)).decode()
    return Hidden(f"-----BEGIN RSA PRIVATE KEY-----\n{text}-----END RSA PRIVATE KEY-----\n")


def _der(tag: int, body: bytes) -> bytes:
    length = len(body)
    size = length.to_bytes((length.bit_length() + 7) // 8)
    return bytes((tag, length)) + body if length < 128 else bytes((tag, 0x80 + len(size))) + size + body


def composite(bits: int) -> tuple[int, ...]:
    """Numbers that belong together, of factors that are no primes: what is not looked for."""
    chance = random.Random(bits)  # noqa: S311 - repeatable, and no key
    while True:
        p, q, e = chance.getrandbits(bits) | 1, chance.getrandbits(bits) | 1, 65537
        if math.gcd(p, q) == math.gcd(e, (p - 1) * (q - 1)) == 1:
            d = pow(e, -1, math.lcm(p - 1, q - 1))
            return p * q, e, d, p, q, d % (p - 1), d % (q - 1), pow(q, -1, p)


@pytest.mark.parametrize("form", FORMS)
def test_a_key_is_read_in_either_form(form: serialization.PrivateFormat) -> None:
    read = rsakeys.private_key(pem(KEY, form))

    assert read is not None
    assert read.private_numbers() == KEY.private_numbers()


def test_a_key_is_read_in_a_tenth_of_the_time_that_a_search_for_primes_takes() -> None:
    text = pem(KEY)

    searched = _quickest(lambda: serialization.load_pem_private_key(text.reveal().encode(), None))
    read = _quickest(lambda: rsakeys.private_key(text))

    assert read < searched / 10


def _quickest(work: Callable[[], object]) -> float:
    took = []
    for _ in range(5):
        began = time.perf_counter()
        work()
        took.append(time.perf_counter() - began)
    return min(took)


def test_a_key_of_another_kind_is_none() -> None:
    assert rsakeys.private_key(pem(ec.generate_private_key(ec.SECP256R1()))) is None


@pytest.mark.parametrize(
    "text",
    (
        pytest.param("", id="nothing"),
        pytest.param("secret", id="no PEM"),
        pytest.param(pem(KEY).reveal()[:-200], id="half a key"),
        pytest.param(pem(KEY).reveal() * 3, id="more than 4,096 bytes"),
        pytest.param("-----BEGIN RSA PRIVATE KEY-----\nAAAA\n-----END RSA PRIVATE KEY-----\n", id="no DER"),
        pytest.param("ä" * 100, id="no ASCII"),
    ),
)
def test_what_is_no_key_is_none(text: str) -> None:
    assert rsakeys.private_key(Hidden(text)) is None


def test_a_key_that_somebody_locked_is_none() -> None:
    locked = KEY.private_bytes(
        serialization.Encoding.PEM, FORMS[1], serialization.BestAvailableEncryption(b"a password that nobody has here")
    )

    assert rsakeys.private_key(Hidden(locked.decode())) is None


GOOD = composite(1024)


@pytest.mark.parametrize("at", range(len(GOOD)))
@pytest.mark.parametrize("change", (-2, -1, 1, 2, 65537))
def test_numbers_that_do_not_belong_together_are_none(at: int, change: int) -> None:
    numbers = [*GOOD]
    numbers[at] += change

    assert rsakeys.private_key(of_numbers(*numbers)) is None


@pytest.mark.parametrize(
    "numbers", ([0] * 8, [1] * 8, [3, 1, 1, 1, 3, 0, 1, 1], [-each for each in GOOD], [1 << 9000] * 8)
)
def test_numbers_of_no_key_are_none(numbers: list[int]) -> None:
    assert rsakeys.private_key(of_numbers(*numbers)) is None


def test_a_key_of_factors_that_are_no_primes_signs_something_and_comes_to_its_end() -> None:
    read = rsakeys.private_key(of_numbers(*GOOD))

    assert read is not None
    assert len(read.sign(b"text", padding.PKCS1v15(), hashes.SHA256())) == (read.key_size + 7) // 8
