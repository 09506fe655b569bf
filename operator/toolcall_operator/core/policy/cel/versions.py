"""Versions by semver.org, and ranges of them as npm and Masterminds write them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

LONGEST = 256
"""A longer text is no version and no range."""

_ALTERNATIVES = 16
_WHOLE = 3
_PART = r"(?:0|[1-9][0-9]{0,15})"
_AFTER = r"(?:-(?P<pre>[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*))?(?:\+[0-9A-Za-z.-]+)?"
_VERSION = re.compile(rf"v?(?P<major>{_PART})(?:\.(?P<minor>{_PART}))?(?:\.(?P<patch>{_PART}))?{_AFTER}", re.ASCII)
_ANY = rf"(?:{_PART}|[xX*])"
_COMPARATOR = re.compile(
    rf"(?P<how>>=|<=|>|<|=|~|\^)?\s*v?(?P<major>{_ANY})(?:\.(?P<minor>{_ANY}))?(?:\.(?P<patch>{_ANY}))?{_AFTER}",
    re.ASCII,
)
_BETWEEN = re.compile(r"[\s,]+|$")

Numbers = tuple[int, int, int]
Rank = tuple[tuple[int | str, ...], ...]
Order = tuple[Numbers, Rank]
"""What versions are compared by; the rank of a release is above those of the versions before it."""

_RELEASED: Rank = ((2,),)
_LOWEST: Order = ((0, 0, 0), ())
_NOTHING: Order = ((10**16, 0, 0), ())
"""Above every version."""


@dataclass(frozen=True, slots=True)
class _Bounds:
    """The versions from `low` on, and below `high`; of a version before release only those of `before`'s release."""

    low: Order
    high: Order | None
    before: Numbers | None

    def hold(self, version: Order) -> bool:
        return self.low <= version and (self.high is None or version < self.high)


def satisfies(version: str, wanted: str) -> bool:
    """Whether a version lies in a range; False when either is none.

    A range is comparators (`>= <= > < =`, `~`, `^`, `1.x`, `*`) with blanks or commas between them, all of which must
    hold; `||` stands between alternatives. A version before release (1.0.0-rc.1) is only in a range of which a
    comparator names one before the same release.
    """
    found = _VERSION.fullmatch(version) if len(version) <= LONGEST else None
    alternatives = parsed(wanted)
    if found is None or alternatives is None:
        return False
    numbers = _numbers([int(found[name] or 0) for name in ("major", "minor", "patch")])
    order = (numbers, _rank(found["pre"]))
    return any(_within(order, every, before=bool(found["pre"])) for every in alternatives)


def parsed(wanted: str) -> tuple[tuple[_Bounds, ...], ...] | None:
    """The alternatives of a range, each with the bounds that must all hold; None for what is no range."""
    return _alternatives(wanted) if len(wanted) <= LONGEST else None


@lru_cache(maxsize=256)
def _alternatives(wanted: str) -> tuple[tuple[_Bounds, ...], ...] | None:
    alternatives = wanted.split("||")
    if len(alternatives) > _ALTERNATIVES:
        return None
    found = [_every(each.strip()) for each in alternatives]
    return None if None in found else tuple(each for each in found if each is not None)


def _within(order: Order, every: tuple[_Bounds, ...], *, before: bool) -> bool:
    if before and order[0] not in {bounds.before for bounds in every}:
        return False
    return all(bounds.hold(order) for bounds in every)


def _every(text: str) -> tuple[_Bounds, ...] | None:
    bounds, at = [], 0
    while at < len(text):
        found = _COMPARATOR.match(text, at)
        between = found and _BETWEEN.match(text, found.end())
        if not found or not between:
            return None
        bounds.append(_bounds(found))
        at = between.end()
    known = tuple(each for each in bounds if each is not None)
    return known if bounds and len(known) == len(bounds) else None


def _bounds(found: re.Match[str]) -> _Bounds | None:
    given: list[int] = []
    for name in ("major", "minor", "patch"):
        if found[name] is None or found[name] in "xX*":
            break
        given.append(int(found[name]))
    if found["pre"] and len(given) < _WHOLE:
        return None
    numbers = _numbers(given)
    low, high = _span(found["how"] or "=", given, (numbers, _rank(found["pre"])))
    return _Bounds(low, high, numbers if found["pre"] else None)


def _span(how: str, given: list[int], order: Order) -> tuple[Order, Order | None]:
    """From where on, and below what, a comparator holds; `order` is its version, with zeros for what is not given."""
    number, rank = order
    after = (number, (*rank, ())) if len(given) == _WHOLE else _next(given, len(given))
    spans: dict[str, tuple[Order, Order | None]] = {
        ">=": (order, None),
        "<": (_LOWEST, order) if given else (_NOTHING, None),
        ">": (after or _NOTHING, None),
        "<=": (_LOWEST, after),
        "~": (order, _next(given, min(2, len(given)))),
        "^": (order, _next(given, next((place for place, each in enumerate(given, 1) if each), len(given)))),
        "=": (order, after),
    }
    return spans[how]


def _next(given: list[int], kept: int) -> Order | None:
    """The first release that differs in the first `kept` numbers; None when there are none to differ in."""
    return (_numbers([*given[: kept - 1], given[kept - 1] + 1]), _RELEASED) if kept else None


def _numbers(given: list[int]) -> Numbers:
    major, minor, patch = (*given, 0, 0, 0)[:_WHOLE]
    return major, minor, patch


def _rank(pre: str | None) -> Rank:
    if not pre:
        return _RELEASED
    return tuple((0, int(each)) if each.isdigit() else (1, each) for each in pre.split("."))
