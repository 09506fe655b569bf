"""What the Secrets of each type of credential hold."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.core.credentials.examples import MARK, VALUE, secret
from toolcall_operator.core.credentials import layouts
from toolcall_operator.core.credentials.layouts import GITHUB, GitHubApp, OAuthToken, RefreshMaterial
from toolcall_operator.core.credentials.secrets import REFRESH_MATERIAL, SecretObject
from toolcall_operator.core.credentials.values import Hidden
from toolcall_operator.core.outcomes import Refused
from toolcall_operator.core.reasons import Reason

RAW, HIDDEN = VALUE.encode(), Hidden(VALUE)
PEM = f"-----BEGIN RSA PRIVATE KEY-----\n{MARK}\n-----END RSA PRIVATE KEY-----\n"
APP = {"app-id": b"123", "private-key": PEM.encode(), "installation-id": b"456\n"}
NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)

Read = Callable[[SecretObject], object]


def static(found: SecretObject) -> object:
    return layouts.static(found, "token")


# What is there --------------------------------------------------------------------------------------------------------
def test_a_static_credential_is_the_value_of_one_key() -> None:
    assert layouts.static(secret({"token": RAW + b"\n", "other": b"\0"}), "token") == HIDDEN


def test_an_access_token_has_an_end_and_what_tells_of_its_owner() -> None:
    found = layouts.oauth(
        secret({"access_token": RAW, "expires_at": b"2026-03-01T12:00:00Z\n", "id_token": RAW + b"-id"})
    )

    assert found == OAuthToken(HIDDEN, NOON, Hidden(f"{VALUE}-id"))
    assert MARK not in repr(found)


@pytest.mark.parametrize("ends", ({}, {"expires_at": b""}, {"expires_at": b"\n"}, {"expires_at": b"  "}))
def test_an_access_token_that_names_no_end_never_ends(ends: dict[str, bytes]) -> None:
    assert layouts.oauth(secret({"access_token": RAW, **ends})) == OAuthToken(HIDDEN)


def test_what_renews_a_token_is_read_as_far_as_it_is_there() -> None:
    assert layouts.refresh_material(secret({})) == RefreshMaterial()
    assert layouts.refresh_material(secret({"client_secret": b"", "scope": b"\n"})) == RefreshMaterial()
    assert layouts.refresh_material(secret({"refresh_token": RAW})) == RefreshMaterial(refresh_token=HIDDEN)


def test_everything_that_renews_a_token_is_read() -> None:
    texts = {"token_endpoint": b"https://idp.example/token\n", "client_id": b"us\n", "scope": b"mail files\n"}

    found = layouts.refresh_material(secret({"refresh_token": RAW, "client_secret": RAW + b"\n", **texts}))

    assert found == RefreshMaterial(HIDDEN, "https://idp.example/token", "us", HIDDEN, "mail files")
    assert MARK not in repr(found)


def test_an_app_has_a_key_of_several_lines() -> None:
    found = layouts.github_app(secret(APP))

    assert found == GitHubApp("123", Hidden(PEM), "456", GITHUB)
    assert MARK not in repr(found)


@pytest.mark.parametrize(
    ("written", "base"),
    (
        (b"https://forge.example/api/v3", "https://forge.example/api/v3"),
        (b"https://forge.example/api/v3/\n", "https://forge.example/api/v3"),
        (b"", "https://api.github.com"),
        (b"\r\n", "https://api.github.com"),
    ),
)
def test_an_app_may_be_known_to_another_server(written: bytes, base: str) -> None:
    found = layouts.github_app(secret({**APP, "base-url": written}))

    assert isinstance(found, GitHubApp)
    assert found.base_url == base


# What is not ----------------------------------------------------------------------------------------------------------
INVALID, UNRESOLVED = Reason.CREDENTIAL_INVALID, Reason.CREDENTIAL_UNRESOLVED
CONTROL = "has control characters: it must be one line"
TIME = "is no time of RFC 3339, such as 2026-03-01T12:00:00Z"
NO_PEM = "is no private key in PEM"

REFUSED: dict[str, tuple[Read, Mapping[str, bytes], Reason, str]] = {
    "a key that is not there": (static, {"other": RAW}, UNRESOLVED, "has no key token"),
    "a value that is empty": (static, {"token": b"\n"}, INVALID, "key token is empty"),
    "a value of two lines": (static, {"token": RAW + b"\n" + RAW}, INVALID, f"key token {CONTROL}"),
    "a value that is no text": (static, {"token": RAW + b"\xff"}, INVALID, "key token is not UTF-8 text"),
    "a value that is too long": (
        static,
        {"token": RAW + b"x" * 65_536},
        INVALID,
        "key token has 65551 bytes, and may have 65536",
    ),
    "no access token": (layouts.oauth, {"refresh_token": RAW}, UNRESOLVED, "has no key access_token"),
    "an empty access token": (layouts.oauth, {"access_token": b""}, INVALID, "key access_token is empty"),
    "an end that is no time": (
        layouts.oauth,
        {"access_token": RAW, "expires_at": RAW},
        INVALID,
        f"key expires_at {TIME}",
    ),
    "an end in seconds": (
        layouts.oauth,
        {"access_token": RAW, "expires_at": b"1772366400"},
        INVALID,
        f"key expires_at {TIME}",
    ),
    "an end that is no text": (
        layouts.oauth,
        {"access_token": RAW, "expires_at": b"\xff"},
        INVALID,
        "key expires_at is not UTF-8 text",
    ),
    "a statement of two lines": (
        layouts.oauth,
        {"access_token": RAW, "id_token": RAW + b"\n" + RAW},
        INVALID,
        f"key id_token {CONTROL}",
    ),
    "a refresh token of two lines": (
        layouts.refresh_material,
        {"refresh_token": RAW + b"\n" + RAW},
        INVALID,
        f"key refresh_token {CONTROL}",
    ),
    "an endpoint of two lines": (
        layouts.refresh_material,
        {"token_endpoint": b"https://idp.example\nX-Key: " + RAW},
        INVALID,
        f"key token_endpoint {CONTROL}",
    ),
    "a client's secret that is no text": (
        layouts.refresh_material,
        {"client_secret": RAW + b"\xff"},
        INVALID,
        "key client_secret is not UTF-8 text",
    ),
    "no app": (layouts.github_app, {**APP, "app-id": b""}, INVALID, "key app-id is empty"),
    "an app of two lines": (layouts.github_app, {**APP, "app-id": b"1\n2"}, INVALID, f"key app-id {CONTROL}"),
    "an empty installation": (
        layouts.github_app,
        {**APP, "installation-id": b"\n"},
        INVALID,
        "key installation-id is empty",
    ),
    "a server of two lines": (
        layouts.github_app,
        {**APP, "base-url": b"https://a\nb"},
        INVALID,
        f"key base-url {CONTROL}",
    ),
    "an empty private key": (layouts.github_app, {**APP, "private-key": b" \n"}, INVALID, "key private-key is empty"),
    "a private key with NUL": (
        layouts.github_app,
        {**APP, "private-key": RAW + b"\0"},
        INVALID,
        f"key private-key {NO_PEM}",
    ),
    "a private key beyond ASCII": (
        layouts.github_app,
        {**APP, "private-key": RAW + b"\xff"},
        INVALID,
        f"key private-key {NO_PEM}",
    ),
    "a private key that is too long": (
        layouts.github_app,
        {**APP, "private-key": PEM.encode() + b"\n" * 65_536},
        INVALID,
        f"key private-key {NO_PEM}",
    ),
}


@pytest.mark.parametrize(("read", "data", "reason", "words"), REFUSED.values(), ids=REFUSED.keys())
def test_a_secret_that_does_not_hold_what_its_type_does_is_refused_naming_the_key(
    read: Read, data: Mapping[str, bytes], reason: Reason, words: str
) -> None:
    found = read(secret(data))

    assert found == Refused(reason, f"Secret default/github {words}")
    assert MARK not in repr(found)


@pytest.mark.parametrize("key", APP)
def test_an_app_that_lacks_a_key_is_told_which(key: str) -> None:
    found = layouts.github_app(secret({name: value for name, value in APP.items() if name != key}))

    assert found == Refused(UNRESOLVED, f"Secret default/github has no key {key}")


KEYS = ("token", "access_token", "expires_at", "id_token", "refresh_token", "client_secret", "private-key")


@given(st.dictionaries(st.sampled_from(KEYS), st.binary(max_size=30).map(RAW.__add__) | st.just(RAW)))
def test_whatever_a_secret_holds_it_shows_nowhere(data: dict[str, bytes]) -> None:
    held = secret({**APP, **data})

    found = [read(held) for read in (static, layouts.oauth, layouts.refresh_material, layouts.github_app)]

    assert MARK not in repr((held, found))


# Time -----------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("text", "expected"),
    (
        pytest.param("2026-03-01T12:00:00Z", NOON, id="in UTC"),
        pytest.param("2026-03-01t12:00:00z", NOON, id="in lower-case letters"),
        pytest.param("2026-03-01 12:00:00Z", NOON, id="with a blank between date and time"),
        pytest.param("2026-03-01T14:30:00+02:30", NOON, id="east of it"),
        pytest.param("2026-03-01T04:00:00-08:00", NOON, id="west of it"),
        pytest.param("2026-03-01T12:00:00+00:00", NOON, id="with an offset of nothing"),
        pytest.param("2026-03-01T12:00:00-00:00", NOON, id="where the offset is not known"),
        pytest.param("2026-03-02T11:59:00+23:59", NOON, id="with the largest offset"),
        pytest.param("2026-03-01T12:00:00.5Z", NOON + timedelta(milliseconds=500), id="with a fraction"),
        pytest.param("2026-03-01T12:00:00.000001Z", NOON + timedelta(microseconds=1), id="to the microsecond"),
        pytest.param("2026-03-01T12:00:00.000001999Z", NOON + timedelta(microseconds=1), id="to the nanosecond"),
        pytest.param("2026-03-01T12:00:00.0000000000001Z", NOON, id="with as many digits as there may be"),
        pytest.param("2028-02-29T00:00:00Z", datetime(2028, 2, 29, tzinfo=UTC), id="on a leap day"),
        pytest.param("0001-01-01T01:00:00+01:00", datetime(1, 1, 1, tzinfo=UTC), id="when the first year begins"),
        pytest.param("0001-01-01T00:00:00Z", datetime(1, 1, 1, tzinfo=UTC), id="in the first year"),
    ),
)
def test_a_moment_is_read_with_its_offset(text: str, expected: datetime) -> None:
    found = layouts.moment(text)

    assert found == expected
    assert found.utcoffset() == timedelta()


@pytest.mark.parametrize(
    "text",
    (
        pytest.param("", id="nothing"),
        pytest.param("tomorrow", id="a word"),
        pytest.param("1772366400", id="seconds"),
        pytest.param("2026-03-01", id="a day"),
        pytest.param("2026-03-01T12:00Z", id="no seconds"),
        pytest.param("2026-03-01T12:00:00", id="no offset"),
        pytest.param("2026-03-01T12:00:00 UTC", id="the name of a zone"),
        pytest.param("2026-03-01T12:00:00+0100", id="an offset without a colon"),
        pytest.param("2026-03-01T12:00:00+01", id="an offset of hours"),
        pytest.param("2026-03-01T12:00:00+24:00", id="an offset of a day"),
        pytest.param("2026-03-01T12:00:00+01:60", id="an offset of sixty minutes"),
        pytest.param("2026-03-01T12:00:00+01:00:30", id="an offset with seconds"),
        pytest.param("2026-03-01T12:00:00.Z", id="a fraction without digits"),
        pytest.param("2026-03-01T12:00:00,5Z", id="a fraction behind a comma"),
        pytest.param("2026-02-29T12:00:00Z", id="a day that there was not"),
        pytest.param("2026-13-01T12:00:00Z", id="a thirteenth month"),
        pytest.param("2026-03-01T25:00:00Z", id="a twenty-fifth hour"),
        pytest.param("2026-03-01T12:60:00Z", id="a sixtieth minute"),
        pytest.param("2026-03-01T12:00:61Z", id="a sixty-first second"),
        pytest.param("0000-01-01T00:00:00Z", id="no year"),
        pytest.param("0001-01-01T00:00:00+01:00", id="what lies before the first year"),
        pytest.param("9999-12-31T23:59:59-01:00", id="what lies behind the last year"),
        pytest.param("20260301T120000Z", id="without separators"),
        pytest.param("2026-W09-7T12:00:00Z", id="a week"),
        pytest.param(" 2026-03-01T12:00:00Z", id="a blank before it"),
        pytest.param("2026-03-01T12:00:00Z\n", id="a line feed behind it"),
        pytest.param("２０２６-03-01T12:00:00Z", id="digits of another script"),  # noqa: RUF001 (the case)
        pytest.param("2026\u221203-01T12:00:00Z", id="a minus sign"),
    ),
)
def test_what_is_no_moment_is_none(text: str) -> None:
    assert layouts.moment(text) is None


@given(
    st.datetimes(datetime(2, 1, 1), datetime(9998, 12, 31)),  # noqa: DTZ001 (the offset is drawn beside them)
    st.integers(-1439, 1439),
)
def test_every_moment_comes_back_from_how_it_is_written(moment: datetime, minutes: int) -> None:
    written = moment.replace(tzinfo=timezone(timedelta(minutes=minutes)))

    assert layouts.moment(written.isoformat()) == written


@given(st.text(max_size=30) | st.from_regex(re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)")))
def test_whatever_is_written_is_a_moment_or_none(text: str) -> None:
    found = layouts.moment(text)

    assert found is None or found.utcoffset() == timedelta()


@pytest.mark.parametrize(
    ("data", "key"),
    (
        ({"access_token": b"a", "refresh_token": b"hunter2"}, "refresh_token"),
        ({"access_token": b"a", "client_secret": b"hunter2"}, "client_secret"),
        ({"app-id": b"1", "private-key": b"hunter2"}, "private-key"),
    ),
)
def test_what_tokens_are_made_of_is_given_to_no_call(data: dict[str, bytes], key: str) -> None:
    found = layouts.static(SecretObject("default", "login", "1", "1", data=data), key)

    assert isinstance(found, Refused)
    assert found.reason is Reason.CREDENTIAL_SOURCE_FORBIDDEN
    assert "hunter2" not in found.message


def test_nor_is_anything_of_a_secret_that_renews_another() -> None:
    labels = {REFRESH_MATERIAL: ""}
    found = layouts.static(SecretObject("default", "a-refresh", "1", "1", labels=labels, data={"a": b"b"}), "a")

    assert isinstance(found, Refused)
