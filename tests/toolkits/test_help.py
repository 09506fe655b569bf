"""The flags of kubectl and gh, whose every run takes a tenth of a second, are those of their own --help."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import pytest

from tests.toolkits import programs
from tests.toolkits.programs import PROBE, Run
from tests.unit.examples import library
from toolcall_operator.api.commandline import Flag
from toolcall_operator.api.spiceboxtoolkit import Subcommand

_KUBECTL = re.compile(r"^ +(?:-(?P<short>\w), )?--(?P<long>[\w-]+)=(?P<value>.*):$", re.MULTILINE)
_GH = re.compile(
    r"^ +(?:-(?P<short>\w), )?--(?P<long>[\w-]+)(?P<value> \S+(?: \S+)*?)?  +(?P<words>\S.*)$", re.MULTILINE
)
_SUBCOMMANDS = [(tool, sub) for tool in ("kubectl", "gh") for sub in library.toolkit(tool).spec.subcommands]


@dataclass(frozen=True, slots=True)
class Told:
    """A flag as the program's help has it."""

    short: str | None
    valued: bool
    words: str = ""


Helps = Callable[[str], Mapping[str, Mapping[str, Told]]]
"""What a tool's help says of each flag of each subcommand."""


@pytest.fixture(scope="module")
def helps(tmp_path_factory: pytest.TempPathFactory) -> Helps:
    """The flags of every subcommand, by the tool's help, which is asked for once."""

    @functools.cache
    def told(tool: str) -> Mapping[str, Mapping[str, Told]]:
        program = programs.program(tool, tmp_path_factory.mktemp(tool))
        subcommands = library.toolkit(tool).spec.subcommands
        texts = program.many((*sub.path, "--help") for sub in subcommands)
        return {sub.name: dict(_READERS[tool](ran.out)) for sub, ran in zip(subcommands, texts, strict=True)}

    return told


@pytest.mark.parametrize(("tool", "subcommand"), _SUBCOMMANDS, ids=(f"{tool} {sub.name}" for tool, sub in _SUBCOMMANDS))
def test_every_flag_is_in_the_help_with_its_letter_and_with_a_value_if_it_takes_one(
    tool: str, subcommand: Subcommand, helps: Helps
) -> None:
    told = helps(tool)[subcommand.name]

    assert [flag.name for flag in subcommand.flags if _differs(flag, told)] == []


def test_the_global_flags_of_kubectl_are_those_of_all_its_commands(run: Run) -> None:
    told = dict(_kubectl(run("kubectl")("options").out))

    flags = library.toolkit("kubectl").spec.global_flags
    assert [flag.name for flag in flags if _differs(flag, told)] == []


@pytest.mark.parametrize(
    ("tool", "line", "knows"),
    (
        pytest.param("kubectl", ("get", "-wA", PROBE), True, id="kubectl joins letters"),
        pytest.param("kubectl", ("get", "-wojson", PROBE), True, id="kubectl attaches a value to joined letters"),
        pytest.param("kubectl", ("-n", "x", "get", PROBE), True, id="kubectl takes a namespace before the subcommand"),
        pytest.param("kubectl", ("get", "-n", PROBE, "--help"), False, id="kubectl takes what is next for a namespace"),
        pytest.param("kubectl", ("scale", "--dry-run", PROBE), True, id="kubectl leaves the value of --dry-run out"),
        pytest.param("kubectl", ("delete", "--cascade", PROBE), True, id="kubectl leaves the value of --cascade out"),
        pytest.param("kubectl", ("delete", "--cascade=orphan", PROBE), True, id="kubectl takes it behind a sign"),
        pytest.param("kubectl", ("get", "pods", "x", PROBE), True, id="kubectl takes flags behind arguments"),
        pytest.param("kubectl", ("get", "--help", "--", PROBE), False, id="kubectl ends the flags at a double dash"),
        pytest.param("gh", ("pr", "list", "-dL5", PROBE), True, id="gh attaches a value to joined letters"),
        pytest.param("gh", ("pr", "list", "-R", PROBE, "--help"), False, id="gh takes what is next for a repository"),
        pytest.param("gh", ("pr", "view", "1", PROBE), True, id="gh takes flags behind arguments"),
    ),
)
def test_it_reads_flags_as_described(tool: str, line: tuple[str, ...], *, knows: bool, run: Run) -> None:
    """It complains of the flag that no program has, if it knew the others and the probe stood where a flag may."""
    complaint = run(tool)(*line).complaint

    assert (complaint is not None and PROBE in complaint) is knows


def test_gh_reads_a_value_behind_a_letter_and_a_sign_without_the_sign(run: Run) -> None:
    """Other programs take the sign for a part of the value, so that the parser refuses what it could not tell apart."""
    gh = run("gh")

    assert gh("pr", "list", "-L=x").err.partition("\n")[0] == gh("pr", "list", "-L", "x").err.partition("\n")[0]


def _differs(flag: Flag, told: Mapping[str, Told]) -> bool:
    found = told.get(flag.long or "")
    if found is None:
        return True
    values = re.search(r"\{([a-z |]+)\}", found.words)
    listed = flag.type == "enum" and values and {*flag.values} != {*values[1].split("|")}
    return found.short != flag.short or found.valued != (flag.type != "bool") or bool(listed)


def _kubectl(text: str) -> Iterator[tuple[str, Told]]:
    for found in _KUBECTL.finditer(text):
        yield found["long"], Told(found["short"], found["value"] not in {"true", "false"})


def _gh(text: str) -> Iterator[tuple[str, Told]]:
    for found in _GH.finditer(text):
        yield found["long"], Told(found["short"], found["value"] is not None, found["words"])


_READERS = {"kubectl": _kubectl, "gh": _gh}
