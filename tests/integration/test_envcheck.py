"""Names and values of the environment that a call must not carry, through the whole pipeline."""

from __future__ import annotations

import pytest

from tests.integration.pipeline import Ended, a_call, ended

SECRET_LIKE = (
    *(
        "GH_TOKEN",
        "MY_SECRET",
        "DB_PASSWORD",
        "passwd",
        "API_KEY",
        "api_key",
        "PRIVATE_KEY",
        "ACCESS_KEY",
        "client_secret",
    ),
    *("BEARER", "MY_OAUTH", "jwt_value", "PassPhrase", "PIN", "PIN_CODE", "session_cookie", "AUTH_KEY", "credential"),
    *("GITHUBTOKEN", "SSHPASS", "MYSQL_PWD"),
)
HARMLESS = (
    *("SHIPPING_ZONE", "MAPPING", "SPINNER", "COMPASS", "BYPASS_CACHE", "MAX_TOKENS", "TOKEN_LIMIT"),
    *("TOKENIZERS_PARALLELISM", "COOKIE_DOMAIN", "AUTHOR"),
)
VALUES = {
    "short": "short",
    "random": "ghp_" + "aB3dE5fG7hJ9kL1mN0pQ2rS4tU6vW8xY",
    "sentence": "the quick brown fox jumps over the lazy dog and then goes home to sleep for a while",
}


@pytest.fixture(scope="module")
def calls(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Ended]:
    names = (*SECRET_LIKE, *HARMLESS, "API-KEY")
    return ended(
        tmp_path_factory.mktemp("envcheck"),
        *(a_call(f"name-{number}", "sh", "true", env={name: "x"}) for number, name in enumerate(names)),
        *(a_call(f"value-{name}", "sh", "true", env={"HARMLESS": value}) for name, value in VALUES.items()),
        a_call("two", "sh", "true", env={"ZZ_TOKEN": "x", "AA_TOKEN": "x"}),
    )


@pytest.mark.parametrize(("number", "name"), tuple(enumerate(SECRET_LIKE)), ids=SECRET_LIKE)
def test_a_name_that_looks_like_a_secret_is_refused(calls: dict[str, Ended], number: int, name: str) -> None:
    call = calls[f"name-{number}"]

    assert call.end == "Failed/ToolCallEnvSecretLike"
    assert name in call.message
    assert call.refused()


@pytest.mark.parametrize(("number", "name"), tuple(enumerate(HARMLESS, len(SECRET_LIKE))), ids=HARMLESS)
def test_a_name_that_only_reminds_of_a_secret_passes(calls: dict[str, Ended], number: int, name: str) -> None:
    assert calls[f"name-{number}"].end == "Succeeded/ProcessExited", name


def test_that_a_name_is_one_at_all_is_judged_first(calls: dict[str, Ended]) -> None:
    assert calls[f"name-{len(SECRET_LIKE) + len(HARMLESS)}"].end == "Failed/EnvNameInvalid"


def test_of_two_secret_like_names_the_first_in_the_alphabet_is_told(calls: dict[str, Ended]) -> None:
    assert calls["two"].end == "Failed/ToolCallEnvSecretLike"
    assert "AA_TOKEN" in calls["two"].message
    assert "ZZ_TOKEN" not in calls["two"].message


@pytest.mark.parametrize(("name", "warning"), (("short", "absent"), ("random", "True"), ("sentence", "absent")))
def test_a_random_looking_value_is_a_warning_and_the_call_still_runs(
    calls: dict[str, Ended], name: str, warning: str
) -> None:
    call = calls[f"value-{name}"]

    assert call.end == "Succeeded/ProcessExited"
    assert call.conditions.get("EnvHighEntropy", {"status": "absent"})["status"] == warning
