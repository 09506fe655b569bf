"""The version of a program in what it prints."""

from __future__ import annotations

import time

import pytest

from tests.unit.core.policy.loading import policies
from toolcall_operator.api.spiceboxtoolkit import Extract, VersionProbe
from toolcall_operator.core.policy import extraction
from toolcall_operator.core.policy.loading import toolkits

GIT = r"git version (\d+\.\d+\.\d+)"
FIELD = "clientVersion.gitVersion"


def version(kind: str, pattern: str | None, stdout: bytes) -> str | None:
    return extraction.version(Extract.model_validate({"kind": kind, "pattern": pattern}), stdout)


@pytest.mark.parametrize(
    ("kind", "pattern", "stdout", "found"),
    (
        pytest.param("regex", GIT, b"git version 2.47.3\n", "2.47.3", id="a group"),
        pytest.param("regex", GIT, b"hint: \xff\ngit version 2.47.3 (x)\n", "2.47.3", id="on a later line"),
        pytest.param("regex", GIT, b"usage: git\n", None, id="no match"),
        pytest.param("regex", "version( .*)?", b"version\n", None, id="a group that took no part"),
        pytest.param("regex", "(x*)", b"2.0\n", None, id="nothing"),
        pytest.param("regex", r"version: (\S+)", b"version: " + b"1" * 129, None, id="too long"),
        pytest.param("regex", r"(?s)(.*)", b"1.0\n2.0\n", None, id="more than a line"),
        pytest.param("regex", r"(2\.0)", b" " * extraction.OUTPUT + b"2.0", None, id="too far away"),
        pytest.param("line1", None, b" 1.7.1 \nmore\n", "1.7.1", id="the first line"),
        pytest.param("line1", None, b"\n\n1.7.1", "1.7.1", id="the first line with anything on it"),
        pytest.param("line1", None, b"", None, id="no line"),
        pytest.param("line1", None, b"1.7\x1b[0m\n", None, id="a line that steers terminals"),
        pytest.param("json", FIELD, b'{"clientVersion": {"gitVersion": "v1.36.0"}}', "v1.36.0", id="a field"),
        pytest.param("json", "0.v", b'[{"v": "1.0"}]', "1.0", id="a field in a list"),
        pytest.param("json", "3.v", b'[{"v": "1.0"}]', None, id="beyond the list"),
        pytest.param("json", "v.v", b'[{"v": "1.0"}]', None, id="a name in a list"),
        pytest.param("json", FIELD, b'{"clientVersion": "v1.36.0"}', None, id="no such field"),
        pytest.param("json", "v", b'{"v": 1.10}', None, id="a number, which loses zeros"),
        pytest.param("json", "v", b'"v"', None, id="no object"),
        pytest.param("json", "v", b'{"v": "1.0"', None, id="no JSON"),
        pytest.param("json", "v", b"[" * 10_000, None, id="JSON too deep"),
    ),
)
def test_a_version_is_found_where_it_stands(kind: str, pattern: str | None, stdout: bytes, found: str | None) -> None:
    assert version(kind, pattern, stdout) == found


@pytest.mark.parametrize(
    ("kind", "pattern"),
    (
        pytest.param("regex", None, id="no pattern"),
        pytest.param("regex", r"git \d+", id="no group"),
        pytest.param("regex", r"(\d+)\.(\d+)", id="two groups"),
        pytest.param("regex", r"(\d+", id="no regular expression"),
        pytest.param("regex", r"(\d+)(?=x)", id="one that is not linear"),
        pytest.param("regex", r"(\pL{9})", id="one that takes too much memory"),
        pytest.param("regex", r"(\pL+)", id="one that takes too much time"),
        pytest.param("json", None, id="no path"),
        pytest.param("json", "", id="an empty path"),
        pytest.param("json", "a..b", id="a path with an empty step"),
    ),
)
def test_a_toolkit_whose_probe_can_find_nothing_is_not_loaded(kind: str, pattern: str | None) -> None:
    probe = {"args": ["--version"], "extract": {"kind": kind, "pattern": pattern}}

    found = toolkits.problems(policies.spiceboxtoolkit(target={"binary": "say", "versionProbe": probe}).spec)

    assert [problem.path for problem in found] == ["spec.target.versionProbe.extract.pattern"]


@pytest.mark.parametrize(("kind", "pattern"), (("regex", GIT), ("json", FIELD), ("line1", None)))
def test_a_probe_that_can_find_something_has_no_problems(kind: str, pattern: str | None) -> None:
    probe = VersionProbe.model_validate({"args": [], "extract": {"kind": kind, "pattern": pattern}})

    assert not [*extraction.problems(probe)]


def test_no_pattern_that_loads_takes_long_over_any_output() -> None:
    begun = time.process_time()

    for pattern in (r"(?:x*){20}(y{1,100})z", r"([ab]*a[ab]{90})c", r"(a?a?.{40}a{40}b)"):
        for stdout in (b"a" * 2**20, b"ab" * 2**19, b"xy" * 2**19):
            assert version("regex", pattern, stdout) is None

    assert time.process_time() - begun < 1
