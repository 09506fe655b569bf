"""Names of environment variables."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolcall_operator.core import envnames

# A table of names reads better in few lines.
# fmt: off
REFUSED = (
    "GH_TOKEN", "MY_SECRET", "DB_PASSWORD", "passwd", "API_KEY", "api_key", "API-KEY", "PRIVATE_KEY", "ACCESS_KEY",
    "client_secret", "BEARER", "MY_OAUTH", "jwt_value", "PassPhrase", "PIN", "PIN_CODE", "session_cookie", "AUTH_KEY",
    "credential", "GITHUBTOKEN", "SSHPASS", "MYSQL_PWD", "OAUTHLIB", "accessToken", "GITHUBToken", "TOKEN", "TOKEN2",
    "token.value", "JWTValue", "DB_PASS", "pass", "DOCKER_AUTH", "auth", "COOKIE", "COOKIE_JAR", "TOKEN_VALUE",
    "GOOGLE_CREDENTIALS", "TOKEN_URL_TOKEN", "githubtoken", "SSHPASS2", "A_P_I_K_E_Y", "PWD",
)
# fmt: on

# A table of names reads better in few lines.
# fmt: off
PASSED = (
    "SHIPPING_ZONE", "MAPPING", "SPINNER", "COMPASSION", "COMPASS", "BYPASS", "BYPASS_CACHE", "MAX_TOKENS",
    "NUM_TOKENS", "TOKENIZERS_PARALLELISM", "PINNED_VERSION", "AUTHOR", "TOKEN_LIMIT", "TOKEN_COUNT", "TOKEN_BUDGET",
    "TOKEN_TYPE", "TOKEN_URL", "TOKEN_URI", "TOKEN_ENDPOINT", "TOKEN_TTL", "TOKEN_NAME", "tokenLimit", "maxTokens",
    "COOKIE_DOMAIN", "COOKIE_PATH", "COOKIE_NAME", "COOKIE_POLICY", "AUTH_URL", "PASS_COUNT", "MY_COMPASS",
    "cacheBypass", "PASSENGER", "FOO", "_", "PATH",
)
# fmt: on


@pytest.mark.parametrize("name", REFUSED)
def test_a_name_that_tells_of_a_secret_is_secret_like(name: str) -> None:
    assert envnames.secret_like(name)


@pytest.mark.parametrize("name", PASSED)
def test_a_name_that_only_sounds_like_a_secret_passes(name: str) -> None:
    assert not envnames.secret_like(name)


@given(st.text(alphabet="ABCxyz_09", max_size=12), st.sampled_from(["PASSWORD", "Secret", "api_key", "O_AUTH"]))
def test_a_telling_word_is_found_wherever_it_stands(around: str, telling: str) -> None:
    assert envnames.secret_like(around + telling + around)


@given(st.text(max_size=300))
def test_every_text_is_judged_and_only_posix_names_are_names(text: str) -> None:
    envnames.secret_like(text)

    valid = len(text) <= 256 and re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", text, re.ASCII) is not None

    assert envnames.is_env_name(text) == valid


@pytest.mark.parametrize("name", ("A", "_", "a1", "LC_ALL", "A" * 256))
def test_a_posix_name_is_a_name(name: str) -> None:
    assert envnames.is_env_name(name)


@pytest.mark.parametrize("name", ("", "1A", "NOT-A-NAME", "A B", "A=B", "A\n", "Ä", "A.B", "A\0", "A" * 257))
def test_anything_else_is_not_a_name(name: str) -> None:
    assert not envnames.is_env_name(name)
