"""Quantities, read exactly."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolcall_operator.api import quantities

AMOUNTS = st.integers(min_value=0, max_value=quantities.MOST_BYTES)


@pytest.mark.parametrize(
    ("value", "count"),
    (
        ("0", 0),
        (1024, 1024),
        ("1Ki", 1024),
        ("64Mi", 64 * 1024**2),
        ("1.5Gi", 3 * 1024**3 // 2),
        ("1k", 1000),
        ("1e3", 1000),
        ("1E3", 1000),
        ("2P", 2 * 10**15),
        ("4Pi", 2**52),
        (".5Ki", 512),
        ("5.", 5),
        ("+5", 5),
        ("128974848000m", 128974848),
        ("50e-1", 5),
    ),
)
def test_bytes_are_read_exactly(value: str | int, count: int) -> None:
    assert quantities.parse_bytes(value) == count


@pytest.mark.parametrize(
    ("value", "thousandths"), (("500m", 500), ("0.5", 500), (2, 2000), ("1.001", 1001), ("1k", 1_000_000), (".25", 250))
)
def test_cpus_are_read_in_thousandths(value: str | int, thousandths: int) -> None:
    assert quantities.parse_cpu(value) == thousandths


@pytest.mark.parametrize("value", ("12x", "", "Mi", "1 Gi", "1KI", "-1", "1e", "0x10", "1_000", "1e999", "٣", "9" * 33))
def test_what_is_no_quantity_is_refused_and_named(value: str) -> None:
    with pytest.raises(ValueError, match="must be a quantity such as") as refusal:
        quantities.parse_bytes(value)

    assert repr(value[:32]) in str(refusal.value)


@pytest.mark.parametrize(("value", "words"), (("0.5", "whole number of bytes"), ("1m", "whole number of bytes")))
def test_a_part_of_a_byte_is_refused_not_rounded(value: str, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        quantities.parse_bytes(value)


@pytest.mark.parametrize("value", ("1u", "1000u", "0.0005", "2e-3", "1.5m"))
def test_a_cpu_is_not_written_finer_than_in_thousandths(value: str) -> None:
    with pytest.raises(ValueError, match="no finer than 1m"):
        quantities.parse_cpu(value)


@pytest.mark.parametrize("value", ("8Ei", "1e20", -1, 2**52 + 1, "4503599627370497"))
def test_bytes_beyond_what_readers_count_exactly_are_refused(value: str | int) -> None:
    with pytest.raises(ValueError, match="must be at least 0 and at most 4Pi"):
        quantities.parse_bytes(value)


@pytest.mark.parametrize("value", ("1000000.001", 1_000_001, -1, "1e99"))
def test_more_cpus_than_any_sandbox_has_are_refused(value: str | int) -> None:
    with pytest.raises(ValueError, match="must be at least 0 and at most 1000000"):
        quantities.parse_cpu(value)


def test_a_number_without_end_is_refused_without_being_written_out() -> None:
    with pytest.raises(ValueError, match="at most 4Pi"):
        quantities.parse_bytes(10**5000)


@given(AMOUNTS)
def test_rendered_bytes_read_as_the_same_number(count: int) -> None:
    assert quantities.parse_bytes(quantities.render_bytes(count)) == count


@given(st.integers(min_value=0, max_value=quantities.MOST_CPU))
def test_rendered_cpus_read_as_the_same_number(thousandths: int) -> None:
    assert quantities.parse_cpu(quantities.render_cpu(thousandths)) == thousandths


@pytest.mark.parametrize(
    ("count", "text"), ((0, "0"), (1024, "1Ki"), (1536, "1536"), (3 * 1024**3, "3Gi"), (1000, "1000"))
)
def test_bytes_are_written_with_the_largest_exact_suffix(count: int, text: str) -> None:
    assert quantities.render_bytes(count) == text
