"""Where credentials go."""

from __future__ import annotations

import pytest

from toolcall_operator.core.credentials import injection
from toolcall_operator.core.credentials.references import Kind, Reference, Source
from toolcall_operator.core.credentials.values import Hidden

STATIC, OAUTH = Source(Kind.STATIC, "default", "github", "token"), Source(Kind.OAUTH, "default", "mail")
VARIABLE = Reference("spec.credentials[0]", STATIC, env_var="GH_TOKEN")
BEARER = Reference("spec.credentials[1]", OAUTH, header="Authorization", value_prefix="Bearer ")
BARE = Reference("spec.credentials[2]", STATIC, header="X-Token")
VALUES = (Hidden("hunter2-of-github"), Hidden("hunter2-of-mail"), Hidden("hunter2-bare"))


def test_a_variable_holds_the_value_of_its_secret() -> None:
    found = injection.environment([VARIABLE], VALUES[:1])

    assert found == {"GH_TOKEN": Hidden("hunter2-of-github")}
    assert "hunter2" not in repr(found)


def test_a_header_holds_the_value_behind_its_prefix() -> None:
    found = injection.headers([BEARER], VALUES[1:2])

    assert found == {"Authorization": Hidden("Bearer hunter2-of-mail")}
    assert "hunter2" not in repr(found)


def test_a_header_without_a_prefix_holds_the_value_alone() -> None:
    assert injection.headers([BARE], VALUES[2:]) == {"X-Token": Hidden("hunter2-bare")}


def test_each_value_goes_where_its_reference_says() -> None:
    references = (VARIABLE, BEARER, BARE)

    assert injection.environment(references, VALUES) == {"GH_TOKEN": VALUES[0]}
    assert injection.headers(references, VALUES) == {
        "Authorization": Hidden("Bearer hunter2-of-mail"),
        "X-Token": Hidden("hunter2-bare"),
    }


def test_without_references_nothing_goes_anywhere() -> None:
    assert injection.environment([], []) == injection.headers([], []) == {}


@pytest.mark.parametrize("values", (VALUES[:2], (*VALUES, Hidden("hunter2-more"))), ids=("too few", "too many"))
def test_values_that_are_not_one_for_each_reference_go_nowhere(values: tuple[Hidden, ...]) -> None:
    references = (VARIABLE, BEARER, BARE)

    for inject in (injection.environment, injection.headers):
        with pytest.raises(ValueError, match="zip") as raised:
            inject(references, values)
        assert "hunter2" not in repr(raised.value)
