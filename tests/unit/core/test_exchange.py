"""Requests to servers outside: when they are malformed, what they show, and whom they go to."""

from __future__ import annotations

import pytest

from toolcall_operator.core import exchange
from toolcall_operator.core.credentials.values import Hidden
from toolcall_operator.core.exchange import Answer, Origin, Request

SECRET = "s3cr3t-0123456789"


class TestOrigin:
    @pytest.mark.parametrize(
        ("text", "origin"),
        (
            pytest.param("https://idp.example", Origin("https", "idp.example", 443), id="https has its port"),
            pytest.param("http://idp.example", Origin("http", "idp.example", 80), id="http has its port"),
            pytest.param("https://idp.example:8443", Origin("https", "idp.example", 8443), id="a port"),
            pytest.param("HTTPS://IdP.Example", Origin("https", "idp.example", 443), id="case means nothing"),
            pytest.param("http://idp", Origin("http", "idp", 80), id="a name of one word"),
            pytest.param("https://10.1.2.3:1", Origin("https", "10.1.2.3", 1), id="an address"),
            pytest.param("https://[::1]:65535", Origin("https", "::1", 65535), id="an IPv6 address"),
            pytest.param("https://[0:0::1]", Origin("https", "::1", 443), id="an IPv6 address at length"),
            pytest.param("https://xn--bcher-kva.example", Origin("https", "xn--bcher-kva.example", 443), id="IDNA"),
        ),
    )
    def test_is_read_as_people_write_it(self, text: str, origin: Origin) -> None:
        assert Origin.parse(text) == origin

    @pytest.mark.parametrize(
        "text",
        (
            "",
            "idp.example",
            "ftp://idp.example",
            "https://",
            "https://*.example",
            "https://idp.example/",
            "https://idp.example/path",
            "https://idp.example?query",
            "https://user@idp.example",
            "https://idp.example:",
            "https://idp.example:0",
            "https://idp.example:65536",
            "https://idp.example:１",  # noqa: RUF001 - the digit is the case
            "https://bücher.example",
            "https://.example",
            "https://[::1",
            "https://[fe80::1%eth0]",
            "https://[:::]",
            " https://idp.example",
            "https://idp.example\n",
        ),
    )
    def test_is_nothing_else(self, text: str) -> None:
        with pytest.raises(ValueError, match="an origin is"):
            Origin.parse(text)


class TestObjection:
    @pytest.mark.parametrize(
        "url",
        (
            "https://host.example",
            "HTTPS://HOST.example/",
            "http://host.example:8080/a/b;c=d/e.f?g=h@i&j=/../k",
            "https://[::1]/",
            "https://host.example/...",
            "https://host.example/a..b",
            "https://bücher.example/ü",
            "https://host.example?query=1",
            "https://host.example/me@example.com",
        ),
    )
    def test_there_is_none_to_a_url(self, url: str) -> None:
        assert exchange.objection(Request("GET", url)) is None

    @pytest.mark.parametrize("method", ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"))
    def test_there_is_none_to_a_method(self, method: str) -> None:
        assert exchange.objection(Request(method, "https://host.example")) is None

    @pytest.mark.parametrize("value", ("", "a", "a b\tc", "Bearer abc.def-ghi_jkl~mno+pqr/stu==", '"quoted, too"'))
    def test_there_is_none_to_a_value(self, value: str) -> None:
        assert exchange.objection(Request("GET", "https://host.example", {"X-Header": value})) is None
        assert exchange.objection(Request("GET", "https://host.example", {"X-Header": Hidden(value)})) is None

    def test_a_header_with_an_objection_is_named_without_its_value(self) -> None:
        request = Request("GET", "https://host.example", {"X-Token": Hidden(f"{SECRET}\n")})

        objection = exchange.objection(request)

        assert objection is not None
        assert "X-Token" in objection
        assert SECRET not in objection

    def test_a_header_whose_name_is_none_is_not_named(self) -> None:
        objection = exchange.objection(Request("GET", "https://host.example", {f"{SECRET}:": "1"}))

        assert objection is not None
        assert SECRET not in objection

    @pytest.mark.parametrize("character", [chr(code) for code in (*range(9), *range(10, 32), 127, 128, 0xE4, 0x2028)])
    def test_no_control_character_and_nothing_outside_ascii_is_in_a_value(self, character: str) -> None:
        assert exchange.objection(Request("GET", "https://host.example", {"X-Header": f"a{character}b"}))

    @pytest.mark.parametrize("character", [chr(code) for code in (*range(33), 127, 0x2028, ord("#"), ord("\\"))])
    def test_no_space_control_character_or_mark_of_a_fragment_is_in_a_path(self, character: str) -> None:
        assert exchange.objection(Request("GET", f"https://host.example/a{character}b"))


def test_a_request_and_an_answer_show_nothing_of_what_is_in_them() -> None:
    url = f"https://host.example/{SECRET}"
    shown = f"{Request('POST', url, {'X': SECRET}, SECRET.encode())!r} {Answer(200, {'x': SECRET}, SECRET.encode())!r}"

    assert SECRET not in shown
