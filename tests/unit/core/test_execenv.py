"""The environment of a call, by precedence."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta

from hypothesis import given
from hypothesis import strategies as st

from toolcall_operator.core import execenv
from toolcall_operator.core.credentials.carried import Carried
from toolcall_operator.core.credentials.values import Hidden
from toolcall_operator.core.outcomes import ExecRequest

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


# Credentials ----------------------------------------------------------------------------------------------------------
TEXT = "hunter2-hunter2"


def request(env: Mapping[str, str]) -> ExecRequest:
    """A process with this environment, as it is before its credentials are had."""
    return ExecRequest("uid", ("/bin/echo",), env, b"", timedelta(minutes=1), timedelta(seconds=5), 1024, 16)


def everything(found: ExecRequest) -> dict[str, str]:
    """The variables of the process, whoever sets them; a name that two of them set is an error."""
    assert found.credentials is not None
    hidden = {name: value.reveal() for name, value in found.credentials.env.items()}
    assert hidden.keys().isdisjoint(found.env.keys())
    assert "hunter2" not in repr(found)
    return {**found.env, **hidden}


def test_a_credential_comes_before_the_call_and_the_call_before_its_session() -> None:
    assembled = execenv.assemble({"B": "spec"}, {"A": "session", "B": "session", "C": "session"})

    found = execenv.carrying(request(assembled), Carried({"A": Hidden(TEXT)}))

    assert everything(found) == {"A": TEXT, "B": "spec", "C": "session"}


def test_a_credential_is_never_demoted_whoever_sets_its_name() -> None:
    assembled = execenv.assemble({"A": "spec"}, {"A": "session"}, {"A": "toolkit"}, {"A": "class"})

    found = execenv.carrying(request(assembled), Carried({"A": Hidden(TEXT)}))

    assert everything(found) == {"A": TEXT}


def test_a_credential_that_is_the_toolkits_default_by_chance_is_not_taken_for_it() -> None:
    assembled = execenv.assemble({}, {"A": "session"}, {"A": TEXT}, {"A": "class"})

    found = execenv.carrying(request(assembled), Carried({"A": Hidden(TEXT)}))

    assert everything(found) == {"A": TEXT}


def test_the_rest_of_a_request_and_how_its_credentials_are_kept_from_others_stay_as_they_are() -> None:
    before, carried = request({"B": "spec"}), Carried({"A": Hidden(TEXT)}, redacted=False, workspace="None")

    found = execenv.carrying(before, carried)

    assert found.credentials is carried
    assert replace(found, credentials=None) == before


@given(ENVIRONMENTS, st.dictionaries(st.sampled_from("ABCDE"), st.text(max_size=5)))
def test_every_name_has_its_credential_or_else_what_was_set_in_words(
    env: dict[str, str], credentials: dict[str, str]
) -> None:
    carried = Carried({name: Hidden(value) for name, value in credentials.items()})

    assert everything(execenv.carrying(request(env), carried)) == {**env, **credentials}
