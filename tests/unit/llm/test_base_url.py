"""Which addresses may get the key."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fisk_ai.errors import ConfigError
from fisk_ai.llm.anthropic.base_url import check_base_url, redact, sends_key_in_clear


@pytest.mark.parametrize(
    "value",
    [
        "",
        "https://api.example.com",
        "HTTPS://api.example.com/v1",
        "http://localhost:1234",
        "http://127.0.0.1:8080/",
        "http://[::1]:8080",
        "http://models.internal",
    ],
)
def test_http_and_https_addresses_with_a_host_are_taken_as_they_are(value: str) -> None:
    assert check_base_url(value) == value


@pytest.mark.parametrize(
    "value",
    [
        "https://api.example.com/v1?x=y",
        "https://api.example.com/v1?",
        "https://api.example.com/#top",
        "api.example.com",
        "localhost:1234",
        "//api.example.com",
        "ftp://api.example.com",
        "file:///etc/passwd",
        "http://",
        "http:///path",
        "https://:443",
        "http://[::1",
        "http://host:port",
        "http://host:99999",
        "http://ho st",
        "http://host\n.evil.com",
        " http://host",
    ],
)
def test_anything_else_is_refused_by_the_names_of_its_settings(value: str) -> None:
    with pytest.raises(ConfigError, match="--base-url / ANTHROPIC_BASE_URL"):
        check_base_url(value)


@pytest.mark.parametrize(
    "value",
    [
        "https://user:hunter2@host",
        "https://hunter2@host/path",
        "https://@host",
        "ftp://user:hunter2@host",
        "user:hunter2@host",
        "https://a@hunter2@host",
        "http:user:hunter2@host",
        "http://user:hunter2@[::1",
        "http://user:hunter2@h:badport/",
        "http://user:hunter2%40h:badport/",
        "http://user:hunter2\uff20h",
        "http://user:hunter2",
        "user:hunter2",
        "ftp://h/?token=hunter2",
        "ftp://h/#hunter2",
        "ftp://h/?token=a@hunter2",
    ],
)
def test_user_information_is_refused_and_never_shown(value: str) -> None:
    with pytest.raises(ConfigError) as refused:
        check_base_url(value)
    assert "hunter2" not in str(refused.value)


def test_an_at_sign_in_a_path_is_no_user_information() -> None:
    assert check_base_url("https://host/team@home") == "https://host/team@home"


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("https://api.example.com", "https://api.example.com"),
        ("http://[::1]:8080/v1", "http://[::1]:8080/v1"),
        ("localhost:1234", "localhost:1234"),
        ("http://h:99999", "http://h:99999"),
        ("https://host/v1?key=x", "https://host/v1***"),
        ("http://user:a/b@host:80/v1", "http://***@host:80/v1"),
        ("user:pw@host", "***@host"),
        ("http://user:/pw@host", "http://***@host"),
        ("http://user:?pw@host", "http://***@***"),
        # By the standard a path; also how a password with a slash looks.
        ("https://host/team@home", "https://***@home"),
    ],
)
def test_what_is_left_of_an_address_names_the_server(value: str, shown: str) -> None:
    assert redact(value) == shown


SECRETS = st.text("QXZ/@:?#[]%4 0\\\t\uff20", min_size=1)
WORD = st.text("abc")


def shown_of(value: str) -> str:
    try:
        check_base_url(value)
    except ConfigError as exc:
        return redact(value) + str(exc)
    return redact(value)


@given(
    st.sampled_from(["http://", "https://", "ftp://", "http:", "//", ""]),
    WORD,
    SECRETS,
    st.sampled_from(["h", "h:1/v1", "[::1", "h:port", "", "h?a", "h/?"]),
)
def test_no_character_of_a_password_is_ever_shown(
    scheme: str, user: str, secret: str, host: str
) -> None:
    assert not set("QXZ") & set(shown_of(f"{scheme}{user}:{secret}@{host}"))


@given(
    st.sampled_from(["http://", "ftp://", "http:", ""]),
    st.sampled_from(["h/", "h", "h:port", "[::1", "u:p@h", "/a@b"]),
    st.sampled_from(["?token=", "#", "?"]),
    SECRETS,
)
def test_no_character_of_a_query_or_fragment_is_ever_shown(
    scheme: str, host: str, mark: str, secret: str
) -> None:
    assert not set("QXZ") & set(shown_of(f"{scheme}{host}{mark}{secret}"))


@pytest.mark.parametrize(
    ("value", "is_clear"),
    [
        ("http://models.internal", True),
        ("http://10.0.0.1:80", True),
        ("http://localhost.evil.com", True),
        ("https://models.internal", False),
        ("http://LOCALHOST:1", False),
        ("http://127.8.9.1", False),
        ("http://[::1]", False),
        ("", False),
    ],
)
def test_plain_http_beyond_this_machine_is_noticed(value: str, is_clear: bool) -> None:  # noqa: FBT001 - a parameter of the table
    assert sends_key_in_clear(value) is is_clear
