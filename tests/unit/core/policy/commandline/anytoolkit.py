"""Any toolkit, sound or not, and any command line: made of few names, so that they meet."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import Any

from hypothesis import strategies as st

from tests.unit.core.policy.commandline.commandlines import command, toolkit
from toolcall_operator.api.spiceboxtoolkit import SpiceboxToolkitSpec

WORDS = ("pr", "view", "x")
LONG = ("all", "all-of-it", "name", "n", "l")
LETTERS = ("a", "l", "n", "5", "?")
TYPES = ("bool", "string", "int", "path", "url", "enum", "stringList")
ENDS = ("AtDoubleDash", "AtFirstPositional")

TEXTS = ("", "-", "--", "a", "b,c", "5", "-5", "a=b", "-l", "--all", "true", *WORDS)
_UNUSUAL = '\0\n="\\-é\u202e\udcff𝄞'


def _fields(**fields: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    """A mapping that may lack any of these."""
    return st.fixed_dictionaries({}, optional=fields)


_VALUES = {
    "values": st.lists(st.sampled_from(("a", "b", "-", "")), unique=True, max_size=3),
    "splitOn": st.sampled_from((",", "b", '"')),
    "minimum": st.integers(-9, 9),
    "maximum": st.integers(-9, 9),
}
_TYPED = st.fixed_dictionaries({"type": st.sampled_from(TYPES)})


def _merged(*parts: st.SearchStrategy[dict[str, Any]]) -> st.SearchStrategy[dict[str, Any]]:
    return st.tuples(*parts).map(lambda found: {name: value for part in found for name, value in part.items()})


FLAGS = _merged(
    _TYPED,
    _fields(
        long=st.sampled_from(LONG),
        short=st.sampled_from(LETTERS),
        optionalValue=st.booleans(),
        arity=st.integers(1, 3),
        endsFlags=st.booleans(),
        **_VALUES,
    ),
)
PLACES = _merged(_TYPED, _fields(required=st.booleans(), afterDashDash=st.booleans(), **_VALUES))


@st.composite
def commands(draw: st.DrawFn) -> dict[str, Any]:
    """A subcommand, or the bare program."""
    places = [{"name": f"slot{n}", **place} for n, place in enumerate(draw(st.lists(PLACES, max_size=3)))]
    path = " ".join(draw(st.lists(st.sampled_from(WORDS), max_size=2)))
    ends = draw(_fields(flagsEnd=st.sampled_from(ENDS)))
    return command(path, *draw(st.lists(FLAGS, max_size=4)), *places, **ends)


@st.composite
def toolkits(draw: st.DrawFn) -> SpiceboxToolkitSpec:
    """A toolkit; much of it would be refused when it is loaded."""
    parser = draw(
        _fields(
            bundledShorts=st.booleans(),
            attachedValues=st.booleans(),
            flagsEnd=st.sampled_from(ENDS),
            doubleDash=st.sampled_from(("EndsFlags", "Refused")),
        )
    )
    shared = tuple(draw(st.lists(FLAGS, max_size=3)))
    return toolkit(*draw(st.lists(commands(), min_size=1, max_size=4)), flags=shared, **parser)


LINES = 20


def lines(spec: SpiceboxToolkitSpec, seed: int) -> Iterator[list[str]]:
    """Command lines for a toolkit, by chance: most begin with one of its subcommands.

    Drawn by hypothesis, one of them would take as long as a hundred.
    """
    chance = Random(seed)  # noqa: S311 (not for secrets)
    for _ in range(LINES):
        path = chance.choice(spec.subcommands).path if chance.random() < 0.8 else ()
        before, after = (chance.choices((0, 1, 2, 4), weights)[0] for weights in ((8, 2, 1, 0), (4, 4, 4, 2)))
        yield [*(_argument(chance) for _ in range(before)), *path, *(_argument(chance) for _ in range(after))]


def _argument(chance: Random) -> str:
    """An argument: often one that some flag, value or word could be."""
    form = chance.choice(
        ("{text}", "{text}", "--{long}", "--{long}={text}", "-{letters}", "-{letters}{text}", "{word}")
    )
    return form.format(
        text="".join(chance.choices(_UNUSUAL, k=3)) if chance.random() < 0.1 else chance.choice(TEXTS),
        long=chance.choice(LONG),
        letters="".join(chance.choices(LETTERS, k=chance.randint(1, 3))),
        word=chance.choice(WORDS),
    )
