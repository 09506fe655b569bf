"""The environment of a process, through the whole pipeline: what reaches it, to the byte, and what never does."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.integration.pipeline import Ended, a_call, a_class, a_session, ended, environment

BASE = {"PATH", "HOME", "TMPDIR", "LANG"}
AWKWARD = {
    "QUOTE": 'it\'s "so"',
    "LINES": "one\ntwo\n",
    "SHELL_WORDS": "$(id) `id` $HOME",
    "UNICODE": "grüße 🌊",
    "EMPTY": "",
}


@pytest.fixture(scope="module")
def calls(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Ended]:
    return ended(
        tmp_path_factory.mktemp("execenv"),
        a_session("here"),
        a_session("greeting", defaultEnv={"GIT_TERMINAL_PROMPT": "0", "OVERRIDDEN": "by the session"}),
        a_class(),
        a_class("settled", envDefaults={"FROM_CLASS": "the class", "OVERRIDDEN": "by the class"}),
        a_session("of-settled", **{"class": "settled"}, defaultEnv={"OVERRIDDEN": "by the session"}),
        a_call("defaults", "env", session="of-settled"),
        a_call("nothing", "env"),
        a_call("own", "env", env={"FOO": "bar"}),
        a_call("both", "env", session="greeting", env={"OVERRIDDEN": "by the call"}),
        a_call("awkward", "env", env=AWKWARD),
        a_call("first", "sh", "sleep 0.2; exec env -0", env={"MINE": "first"}),
        a_call("second", "sh", "sleep 0.2; exec env -0", env={"MINE": "second"}),
        a_call("no-name", "env", env={"NOT-A-NAME": "x"}),
        a_call("nul", "env", env={"BROKEN": "a\0b"}),
        env=environment(
            CALLERS_OWN="must not be seen", LANG="xx_YY.UTF-8", HOME="/callers/home", PATH="/callers/bin:/usr/bin:/bin"
        ),
    )


def seen(call: Ended) -> dict[str, str]:
    assert call.end == "Succeeded/ProcessExited", call.message
    return dict(pair.decode().split("=", 1) for pair in call.output().split(b"\0") if pair)


def test_a_process_without_any_environment_sees_only_the_sandboxs_base(calls: dict[str, Ended]) -> None:
    assert set(seen(calls["nothing"])) == BASE


def test_the_callers_environment_never_reaches_a_tool(calls: dict[str, Ended]) -> None:
    base = seen(calls["nothing"])

    assert base["PATH"] == "/usr/local/bin:/usr/bin:/bin"
    assert base["LANG"] == "C.UTF-8"
    assert not base["HOME"].startswith("/callers")


def test_the_calls_own_environment_reaches_the_process(calls: dict[str, Ended]) -> None:
    assert seen(calls["own"])["FOO"] == "bar"


def test_the_sessions_environment_reaches_the_process_unless_the_call_sets_the_name(calls: dict[str, Ended]) -> None:
    both = seen(calls["both"])

    assert both["GIT_TERMINAL_PROMPT"] == "0"
    assert both["OVERRIDDEN"] == "by the call"


def test_the_class_gives_every_process_its_defaults_which_the_session_overrides(calls: dict[str, Ended]) -> None:
    defaults = seen(calls["defaults"])

    assert (defaults["FROM_CLASS"], defaults["OVERRIDDEN"]) == ("the class", "by the session")


@pytest.mark.parametrize("name", AWKWARD)
def test_values_reach_the_process_to_the_byte(calls: dict[str, Ended], name: str) -> None:
    assert seen(calls["awkward"])[name] == AWKWARD[name]


def test_two_calls_at_the_same_time_see_only_their_own_values(calls: dict[str, Ended]) -> None:
    assert (seen(calls["first"])["MINE"], seen(calls["second"])["MINE"]) == ("first", "second")


def test_a_name_no_variable_can_have_is_refused_by_name(calls: dict[str, Ended]) -> None:
    assert calls["no-name"].end == "Failed/EnvNameInvalid"
    assert "NOT-A-NAME" in calls["no-name"].message
    assert calls["no-name"].refused()


def test_a_value_with_a_nul_is_refused_with_the_variables_name(calls: dict[str, Ended]) -> None:
    assert calls["nul"].end == "Failed/MalformedObject"
    assert "BROKEN" in calls["nul"].message
    assert calls["nul"].refused()


def test_no_file_holds_a_value_of_the_environment(tmp_path: Path) -> None:
    value = "unmistakable-5d1e7c"
    ended(
        tmp_path,
        a_call(
            "looking",
            "sh",
            'grep -rl "$WORD" "$TMPDIR" "$HOME" /workspace /work 2>/dev/null; exit 0',
            env={"WORD": value},
        ),
    )
    holding = [path for path in tmp_path.rglob("*") if path.is_file() and value.encode() in path.read_bytes()]

    assert holding == [tmp_path / "manifests.yaml"]
