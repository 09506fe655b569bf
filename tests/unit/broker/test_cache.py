"""What is kept until a moment is not had after it, and does not pile up."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from toolcall_operator.broker.cache import Cache
from toolcall_operator.core.credentials.values import Hidden

NOW = datetime(2026, 1, 31, 12, tzinfo=UTC)
LATER = NOW + timedelta(minutes=1)


def test_a_value_is_had_until_its_moment() -> None:
    cache = Cache[str, int]()
    cache.keep("a", 1, LATER)

    assert cache.get("a", LATER - timedelta(milliseconds=1)) == 1
    assert cache.get("a", LATER) is None
    assert len(cache) == 0


def test_what_was_never_kept_is_not_there() -> None:
    assert Cache[str, int]().get("a", NOW) is None


def test_the_later_value_stands() -> None:
    cache = Cache[str, int]()
    cache.keep("a", 1, LATER)
    cache.keep("a", 2, LATER)

    assert cache.get("a", NOW) == 2


def test_there_is_room_for_a_thousand_and_the_least_recently_used_go() -> None:
    cache = Cache[int, int]()
    for number in range(1_000):
        cache.keep(number, number, LATER)
    cache.get(0, NOW)

    cache.keep(1_000, 1_000, LATER)

    assert len(cache) == 1_000
    assert cache.get(0, NOW) == 0
    assert cache.get(1, NOW) is None


def test_no_secret_shows() -> None:
    cache = Cache[str, Hidden]()
    cache.keep("a", Hidden("ghp_ThisIsNoToken"), LATER)

    assert "NoToken" not in f"{cache!r} {vars(cache)!r}"
