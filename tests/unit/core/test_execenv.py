"""The environment of a call, by precedence."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from toolcall_operator.core import execenv

ENVIRONMENTS = st.dictionaries(st.sampled_from("ABCDE"), st.text(max_size=5))


def test_nothing_set_anywhere_assembles_nothing() -> None:
    assert execenv.assemble({}, {}) == {}


def test_a_session_without_defaults_leaves_the_calls_environment_as_it_is() -> None:
    assert execenv.assemble({"FOO": "bar"}, {}) == {"FOO": "bar"}


def test_the_call_wins_over_its_session() -> None:
    assembled = execenv.assemble({"OVERRIDDEN": "call"}, {"GIT_TERMINAL_PROMPT": "0", "OVERRIDDEN": "session"})

    assert assembled == {"GIT_TERMINAL_PROMPT": "0", "OVERRIDDEN": "call"}


@given(ENVIRONMENTS, ENVIRONMENTS)
def test_every_name_has_the_value_of_the_nearest_that_sets_it(call: dict[str, str], session: dict[str, str]) -> None:
    assembled = execenv.assemble(call, session)

    assert assembled.keys() == call.keys() | session.keys()
    assert all(assembled[name] == call.get(name, session.get(name)) for name in assembled)


def test_a_default_of_the_toolkit_is_there_unless_somebody_sets_the_name() -> None:
    assert execenv.assemble({}, {}, {"PAGER": "cat"}) == {"PAGER": "cat"}
    assert execenv.assemble({"PAGER": "less"}, {}, {"PAGER": "cat"}) == {"PAGER": "less"}
    assert execenv.assemble({}, {"PAGER": "more"}, {"PAGER": "cat"}) == {"PAGER": "more"}


def test_a_value_of_the_call_that_is_the_toolkits_default_gives_way_to_the_session() -> None:
    assert execenv.assemble({"PAGER": "cat"}, {"PAGER": "more"}, {"PAGER": "cat"}) == {"PAGER": "more"}


def test_a_value_of_the_call_that_is_the_toolkits_default_gives_way_to_the_class_which_has_it_in_the_sandbox() -> None:
    assert execenv.assemble({"PAGER": "cat"}, {}, {"PAGER": "cat"}, {"PAGER": "more"}) == {}


def test_a_value_of_the_call_that_differs_from_the_toolkits_default_is_meant() -> None:
    class_env, session = {"PAGER": "of the class"}, {"PAGER": "of the session"}

    assert execenv.assemble({"PAGER": "less"}, session, {"PAGER": "cat"}, class_env) == {"PAGER": "less"}
