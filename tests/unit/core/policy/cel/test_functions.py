"""The functions of paths, hosts, file patterns, versions and the call, as expressions call them."""

from __future__ import annotations

import pytest

from toolcall_operator.core.policy.cel import programs
from toolcall_operator.core.policy.cel.programs import Kind, Scope

CALL = {"flags": {"branch": "main", "force": True, "refs": ["a"], "empty": ""}, "env": {"HOME": "/root"}}


def given(function: str, *args: str) -> object:
    """What a function gives for arguments that are only known at run time."""
    names = ", ".join(f"config.a{number}" for number in range(len(args)))
    program = programs.compiled(f"{function}({names})", Kind.ANY)
    return program.evaluate(Scope(call=CALL, config={f"a{number}": text for number, text in enumerate(args)}))


@pytest.mark.parametrize(
    ("path", "folder", "under"),
    (
        ("/work/a", "/work", True),
        ("/work", "/work", True),
        ("/work/", "/work", True),
        ("/work/a", "/work/", True),
        ("//work//./a", "/work", True),
        ("/work/a", "/", True),
        ("/workspace", "/work", False),
        ("/work/../etc/passwd", "/work", False),
        ("/work/a/../b", "/work", False),
        ("/work/a/..", "/work", False),
        ("/../work/a", "/work", False),
        ("/etc", "/work", False),
        ("work/a", "/work", False),
        ("work/a", "work", False),
        ("", "/work", False),
        ("", "", False),
        ("/work/a", "", False),
        ("~/a", "/", False),
        ("/work/a\0b", "/work", False),
        ("/work/" + "a" * 4096, "/work", False),
        ("/work/..a", "/work", True),
    ),
)
def test_a_path_is_under_a_folder_when_it_cannot_be_elsewhere(path: str, folder: str, *, under: bool) -> None:
    assert given("path.isUnder", path, folder) is under


def test_the_host_of_a_url_is_told() -> None:
    assert given("host.of", "https://api.github.com/x") == "api.github.com"


@pytest.mark.parametrize(
    ("url", "host"),
    (
        ("https://API.GitHub.com", "api.github.com"),
        ("https://github.com:8443/x", "github.com:8443"),
        ("https://github.com:/x", "github.com"),
        ("https://github.com:0443/x", "github.com:443"),
        ("https://github.com./x", "github.com"),
        ("https://user:pass@github.com/x", "github.com"),
        ("https://github.com@evil.com/", "evil.com"),
        ("https://github.com:443@evil.com/", "evil.com"),
        ("https://github.com;@evil.com/", "evil.com"),
        ("https://evil.com#@github.com/", "evil.com"),
        ("https://evil.com?@github.com/", "evil.com"),
        ("https://evil.com/@github.com", "evil.com"),
        ("https://x@github.com@evil.com/", ""),
        ("https://evil.com\\@github.com/", ""),
        ("https:\\\\github.com\\", ""),
        ("https://github.com\t.evil.com/", ""),
        ("https://github.com\n/", ""),
        (" https://github.com/", ""),
        ("https://github.com/a b", ""),
        ("https://g\u0131thub.com/", ""),
        ("https://github。com/", ""),
        ("https://github.com/ü", ""),
        ("https://github%2ecom/", ""),
        ("https://{github.com,evil.com}/", ""),
        ("https://evil[1-3].com/", ""),
        ("https://-evil.com/", ""),
        ("https://github..com/", ""),
        ("https://.github.com/", ""),
        ("https://github.com:99999/", ""),
        ("https://github.com:0/", ""),
        ("https://github.com:8o/", ""),
        ("https:///github.com/", ""),
        ("https:/github.com/", ""),
        ("https:github.com/", ""),
        ("github.com/x", ""),
        ("github.com", ""),
        ("//github.com/x", ""),
        ("file:///etc/passwd", ""),
        ("javascript:alert(1)", ""),
        ("ext::sh -c id", ""),
        ("ssh://git@github.com:22/acme/x.git", "github.com:22"),
        ("git@github.com:acme/x.git", "github.com"),
        ("git@GitHub.com:22/x.git", "github.com"),
        ("git@evil.com:x@github.com:y", "evil.com"),
        ("git@github.com@evil.com:x", ""),
        ("-oProxyCommand=id@github.com:x", ""),
        ("git@-oProxyCommand=id:x", ""),
        ("git@github.com", ""),
        ("git@github.com:", ""),
        ("github.com:acme/x.git", ""),
        ("git@[::1]:x", "[::1]"),
        ("https://[::1]:443/", "[::1]:443"),
        ("https://[0:0:0:0:0:0:0:1]/", "[::1]"),
        ("https://[fe80::1%25eth0]/", ""),
        ("https://[nonsense]/", ""),
        ("https://127.0.0.1/", "127.0.0.1"),
        ("https://127.1/", ""),
        ("https://2130706433/", ""),
        ("https://0x7f.0.0.1/", ""),
        ("https://0x7f000001/", ""),
        ("https://0177.0.0.1/", ""),
        ("https://1.2.3.4.5/", ""),
        ("https://localhost/", "localhost"),
        ("https://my_host.internal/", "my_host.internal"),
        ("https://" + "a" * 64 + ".com/", ""),
        ("https://github.com/" + "a" * 8192, ""),
        ("", ""),
    ),
)
def test_the_host_of_a_url_is_the_one_that_every_program_reads(url: str, host: str) -> None:
    assert given("host.of", url) == host


@pytest.mark.parametrize(
    ("host", "pattern", "matches"),
    (
        ("internal", "internal", True),
        ("x.internal", "*.internal", True),
        ("y.x.internal", "*.internal", True),
        ("X.Internal", "*.internal", True),
        ("evil.com", "*.internal", False),
        ("internal", "*.internal", False),
        (".internal", "*.internal", False),
        ("evilinternal", "*.internal", False),
        ("x.internal:80", "*.internal", False),
        ("x.internal", "*.", False),
        ("x.internal", "*", False),
        ("", "", False),
        ("", "*.internal", False),
    ),
)
def test_a_host_matches_itself_and_a_domain_above_it(host: str, pattern: str, *, matches: bool) -> None:
    assert given("host.matches", host, pattern) is matches


@pytest.mark.parametrize(
    ("pattern", "text", "matches"),
    (
        ("abc", "abc", True),
        ("*", "abc", True),
        ("*c", "abc", True),
        ("a*", "a", True),
        ("a*", "abc", True),
        ("a*", "ab/c", False),
        ("a*/b", "abc/b", True),
        ("a*/b", "a/c/b", False),
        ("a*b*c*d*e*/f", "axbxcxdxe/f", True),
        ("a*b*c*d*e*/f", "axbxcxdxexxx/f", True),
        ("a*b*c*d*e*/f", "axbxcxdxe/xxx/f", False),
        ("a*b?c*x", "abxbbxdbxebxczzx", True),
        ("a*b?c*x", "abxbbxdbxebxczzy", False),
        ("ab[c]", "abc", True),
        ("ab[b-d]", "abc", True),
        ("ab[e-g]", "abc", False),
        ("ab[^c]", "abc", False),
        ("ab[^e-g]", "abc", True),
        (r"a\*b", "a*b", True),
        (r"a\*b", "ab", False),
        ("a?b", "aäb", True),
        ("a[^a]b", "aäb", True),
        ("a???b", "aäb", False),
        ("[a-ζ]*", "\u03b1", True),
        ("a?b", "a/b", False),
        ("a*b", "a/b", False),
        ("a[^x]b", "a/b", True),
        (r"[\]a]", "]", True),
        (r"[\-]", "-", True),
        (r"[x\-]", "-", True),
        (r"[x\-]", "z", False),
        (r"[\-x]", "a", False),
        ("*x", "xxx", True),
        ("**", "abc", True),
        ("*", "a\nb", True),
        ("a.c", "abc", False),
        ("(a|b)+$", "(a|b)+$", True),
        ("", "", True),
        ("", "a", False),
        ("[]a]", "]", False),
        ("[-]", "-", False),
        ("[x-]", "x", False),
        ("[-x]", "x", False),
        ("[a-b-c]", "a", False),
        ("[", "a", False),
        ("[^", "a", False),
        ("[^bc", "a", False),
        ("a[", "a", False),
        ("[]", "a", False),
        ("[z-a]", "z", False),
        ("\\", "a", False),
        ("a" * 2000, "a" * 2000, False),
    ),
)
def test_a_file_pattern_is_read_as_go_reads_it(pattern: str, text: str, *, matches: bool) -> None:
    assert given("glob.match", pattern, text) is matches


def test_a_version_is_in_a_range() -> None:
    assert given("semver.satisfies", "2.53.1", ">=2.40.0 <3.0.0") is True
    assert given("semver.satisfies", "1.0.0", ">=2.40.0 <3.0.0") is False


@pytest.mark.parametrize(
    ("wanted", "inside", "outside"),
    (
        ("1.2.3", ["1.2.3", "v1.2.3", "1.2.3+build"], ["1.2.4", "1.2.2", "1.2.3-rc.1"]),
        ("=1.2.3", ["1.2.3"], ["1.2.4"]),
        (">=1.2.3", ["1.2.3", "9.0.0"], ["1.2.2", "2.0.0-rc.1"]),
        (">1.2.3", ["1.2.4"], ["1.2.3"]),
        ("<1.2.3", ["1.2.2", "0.0.0"], ["1.2.3", "1.2.3-rc.1"]),
        ("<=1.2.3", ["1.2.3"], ["1.2.4"]),
        (">=1.2, <2", ["1.2.0", "1.9.9"], ["2.0.0", "1.1.9"]),
        (">= 1.2 < 2", ["1.2.0", "1.9.9"], ["2.0.0", "1.1.9"]),
        (">1.2", ["1.3.0"], ["1.2.9"]),
        ("<=1.2", ["1.2.9"], ["1.3.0"]),
        ("<1.2", ["1.1.9"], ["1.2.0"]),
        ("1.2.x", ["1.2.0", "1.2.9"], ["1.3.0"]),
        ("1.x", ["1.0.0", "1.9.9"], ["2.0.0"]),
        ("1", ["1.0.0", "1.9.9"], ["2.0.0"]),
        ("*", ["0.0.0", "9.9.9"], ["1.0.0-rc.1"]),
        (">*", [], ["0.0.0", "9.9.9"]),
        ("<*", [], ["0.0.0", "9.9.9"]),
        (">=*", ["0.0.0"], []),
        ("<=*", ["9.9.9"], []),
        ("~1.2.3", ["1.2.3", "1.2.9"], ["1.3.0", "1.2.2"]),
        ("~1.2", ["1.2.0", "1.2.9"], ["1.3.0"]),
        ("~1", ["1.0.0", "1.9.9"], ["2.0.0"]),
        ("^1.2.3", ["1.2.3", "1.9.9"], ["2.0.0", "1.2.2"]),
        ("^0.2.3", ["0.2.3", "0.2.9"], ["0.3.0"]),
        ("^0.0.3", ["0.0.3"], ["0.0.4"]),
        ("^0.0", ["0.0.9"], ["0.1.0"]),
        ("^0", ["0.9.9"], ["1.0.0"]),
        ("^1.x", ["1.9.9"], ["2.0.0"]),
        ("^1.2.3 || ^3.0.0", ["1.2.3", "3.1.0"], ["2.0.0"]),
        (">=1.2.3-rc.1", ["1.2.3-rc.1", "1.2.3-rc.2", "1.2.3-rc.10", "1.2.3"], ["1.2.3-beta", "1.2.4-rc.1"]),
        (">1.2.3-rc.1", ["1.2.3-rc.2", "1.2.3-rc.1.1"], ["1.2.3-rc.1"]),
        ("<2.0.0 >=2.0.0-alpha", ["2.0.0-alpha", "2.0.0-beta"], ["2.0.0", "1.0.0"]),
        ("1.2.3-rc.1", ["1.2.3-rc.1"], ["1.2.3-rc.1.1", "1.2.3"]),
        ("^1.2.3-beta", ["1.2.3-beta", "1.9.9"], ["2.0.0-alpha", "1.2.4-beta"]),
    ),
)
def test_ranges_hold_what_npm_says(wanted: str, inside: list[str], outside: list[str]) -> None:
    assert all(given("semver.satisfies", version, wanted) for version in inside)
    assert not any(given("semver.satisfies", version, wanted) for version in outside)


@pytest.mark.parametrize(
    "wanted", ("", " ", "new", ">=", "1.2.3.4", "1.2.3 ||", "|| 1", "1.2-rc.1", "01.2.3", "1" * 300)
)
def test_no_version_is_in_a_bad_range(wanted: str) -> None:
    assert given("semver.satisfies", "1.2.3", wanted) is False


@pytest.mark.parametrize("version", ("", "x", "1.2.3.4", "2.53.1.windows.1", "1.2.3-", "01.2.3", "1.2.3 ", "9" * 300))
def test_a_bad_version_is_in_no_range(version: str) -> None:
    assert given("semver.satisfies", version, ">=0 || *") is False


def test_short_versions_are_read_with_zeros() -> None:
    assert given("semver.satisfies", "2.40", ">=2.40.0") is True


def test_the_flags_and_the_environment_of_a_call_are_told() -> None:
    assert [given("call.flag", name) for name in ("branch", "empty", "absent")] == ["main", "", ""]
    assert [given("call.hasFlag", name) for name in ("branch", "force", "absent")] == [True, True, False]
    assert [given("call.hasEnv", name) for name in ("HOME", "PATH")] == [True, False]


@pytest.mark.parametrize("name", ("force", "refs"))
def test_the_text_of_a_flag_that_is_no_text_is_an_error(name: str) -> None:
    with pytest.raises(programs.EvaluationError, match=r"^call\.flag\(\) is for flags whose value is a text$"):
        given("call.flag", name)


@pytest.mark.parametrize("function", ("path.isUnder", "host.matches", "glob.match", "semver.satisfies", "matches"))
def test_functions_of_texts_take_nothing_else(function: str) -> None:
    program = programs.compiled(f"{function}(config.a, config.b)", Kind.BOOL)

    with pytest.raises(programs.EvaluationError, match=r"takes texts, not list$"):
        program.evaluate(Scope(call={}, config={"a": "a", "b": []}))


def test_a_pattern_in_the_policy_and_one_in_the_configuration_match_the_same() -> None:
    within = Scope(call={"argv": ["refs/heads/main"]}, config={"p": "refs/heads/*", "r": "^refs/.*n$"})
    pairs = [
        ("glob.match('refs/heads/*', call.argv[0])", "glob.match(config.p, call.argv[0])"),
        ("call.argv[0].matches('^refs/.*n$')", "matches(call.argv[0], config.r)"),
    ]

    found = [programs.compiled(source, Kind.BOOL).evaluate(within) for pair in pairs for source in pair]

    assert found == [True] * 4
