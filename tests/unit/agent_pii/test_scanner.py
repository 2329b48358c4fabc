"""What a scan finds, what it leaves alone, and what it puts in place of a value."""

from __future__ import annotations

import json
import string
import subprocess
import sys

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from fisk_ai.agent.pii.scanner import TEXT_LIMIT_BYTES, build
from fisk_ai.errors import FiskError, SetupError
from fisk_ai.toolkit import envelope
from fisk_ai.toolkit.contract import CommandExec

ALPHANUMERICS = string.ascii_letters + string.digits
SEED = "SU" + "A2B3C4D5" * 7
JWT = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NSJ9.dBjftJeZ4CVP"
BLOCK = f"-----BEGIN NATS USER JWT-----\n{JWT}\n------END NATS USER JWT------"
SEED_BLOCK = f"-----BEGIN USER NKEY SEED-----\n{SEED}\n------END USER NKEY SEED------"
PEM = "-----BEGIN RSA PRIVATE KEY-----\n{}-----END RSA PRIVATE KEY-----".format(
    "MIIEowIBAAKCAQEAx1y2z3\n" * 3
)

FOUND = [
    ("EMAIL", "write to {} today", "jane.doe+ci@mail.example.com"),
    ("EMAIL", "{}", "jörg.müller@firma.de"),
    ("EMAIL", "Author: Jane <{}>", "jane@example.org"),
    ("EMAIL", "at {}.", "somebody@163.com"),
    ("PHONE", "call {}", "+49 151 12345678"),
    ("PHONE", "call {}", "+1-555-123-4567"),
    ("PHONE", "call {}", "+1.415.555.2671"),
    ("PHONE", "call {} 2026-11-30", "+1 555 123 4567"),
    ("PHONE", "call {} 1234 times", "+491511234567"),
    ("PHONE", "call {}, please", "+1 (555) 123-4567"),
    ("PHONE", "tel:{}", "+442071838750"),
    ("PAYMENT_CARD", "card {}.", "4111 1111 1111 1111"),
    ("PAYMENT_CARD", "card {}", "5555-5555-5555-4444"),
    ("PAYMENT_CARD", "by {}", "378282246310005"),
    ("PAYMENT_CARD", "{}", "3782 822463 10005"),
    ("IBAN", "to {} by Friday", "DE89370400440532013000"),
    ("IBAN", "to {} BY FRIDAY", "GB82 WEST 1234 5698 7654 32"),
    ("IBAN", "AB12 {}", "DE89370400440532013000"),
    ("SSN", "ssn {}", "536-22-1234"),
    ("SSN", "ssn {}.Next", "536-22-1234"),
    ("PASSPORT", "passport number: {}", "C01X00T47"),
    ("PASSPORT", '{{"passport_no": "{}"}}', "533380006"),
    ("DATE_OF_BIRTH", "date of birth: {}", "1984-03-12"),
    ("DATE_OF_BIRTH", "Date of Birth: {}", "January 2nd, 1990"),
    ("DATE_OF_BIRTH", "DOB {}", "12 March 1984"),
    ("DATE_OF_BIRTH", '"dateOfBirth":"{}"', "03/12/1984"),
    ("DRIVING_LICENCE", "driver's license no: {}", "D123-4567-8901"),
    ("DRIVING_LICENCE", "driving licence {}", "MORGA657054SM9IJ"),
    ("SECRET", "use {} here", JWT),
    ("SECRET", "id {}", "AKIAIOSFODNN7EXAMPLE"),
    ("SECRET", "the key\n{}\n", PEM),
    ("SECRET", "api_key={}", "abcd1234efgh5678ijkl"),
    ("SECRET", "GITHUB_TOKEN={} make", "9f86d081884c7d659a2f"),
    ("SECRET", "password: {}", "hunter2hunter2hunter2"),
    ("SECRET", '{{"client_secret": "{}"}}', "aB3dE5gH7jK9(mN1)p"),
    ("SECRET", "?user=1&access_token={}&x=1", "aB3dE5gH7jK9mN1p"),
    ("SECRET", "key: {}", "aB3dE5gH7jK9mN1p"),
    ("SECRET", "PASSWORD={}", "my_secret_password_123"),
    ("SECRET", "db_password: {}", "my_secret_password_123"),
    ("SECRET", "AWS_SECRET_ACCESS_KEY={}", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"),
    ("SECRET", "id {}", "ASIAIOSFODNN7EXAMPLE"),
    ("SECRET", "passwd={}", "hunter2hunter2hunter2"),
    ("SECRET", "db_pwd: {}", "hunter2hunter2hunter2"),
    ("SECRET", "PWD={}", "hunter2hunter2hunter2"),
    ("SECRET", 'password: "{}"', "correct horse battery staple 9"),
    ("SECRET", "DB_PASSWORD='{}'", "correct horse 7 battery"),
    ("SECRET", '{{"passphrase": "{}", "user": "ann"}}', "correct horse 7 battery"),
    ("SECRET", "postgres://app:{}@db.example.com:5432/main", "s3cret"),
    ("SECRET", "amqp://guest:{}@localhost and on", "p%40ss@word"),
    ("SECRET", "redis://:{}@10.0.0.1:6379/0", "hunter"),
    ("SECRET", "git clone https://ann:{}@git.example.com/a/b.git", "hunter2"),
    ("SECRET", "client_secret: {}", "my-super-secret-2024"),
    ("SECRET", "secret: {}", "my-super-secret-2024"),
    ("SECRET", "auth_token: {}", "release-candidate-1984"),
    ("SECRET", "hotkey: {}", "aB3+dE5gH7+jK9mN1p"),
    *(
        ("SECRET", name + "={}", "aB3dE5gH7jK9mN1p")
        for name in (
            "accessToken",
            "refresh_token",
            "next_auth_token",
            "page_access_token",
            "csrfToken",
            "session.token",
            "public_api_key",
            "cacheApiKey",
            "apikey",
            "primary_access_key",
            "keypassword",
            "next_secret",
            "FACEBOOK_PAGE_TOKEN",
            "facebookPageToken",
            "githubSyncToken",
            "user_start_key",
            "user token ",
        )
    ),
    ("SECRET", 'primaryKey: "{}"', "aB3dE5gH7j/" * 7 + "K9mN1p=="),
    ("SECRET", "Authorization: Basic {}", "dXNlcjpwYXNzd29yZDEyMw=="),
    ("SECRET", '{{"Proxy-Authorization":["basic {}"]}}', "dXNlcjpwYXNzd29yZDEyMw"),
    ("NATS_SEED", "seed {}", SEED),
    ("NATS_SEED", "{}", SEED_BLOCK),
    ("API_KEY", "{}", "sk-or-v1-" + "a1" * 16),
    ("API_KEY", "{}", "sk-ant-api03-" + "a_B-1" * 4),
    ("API_KEY", "{}", "sk-proj-" + "a_B-1" * 5),
    ("API_KEY", "{}", "sk-svcacct-" + "a_B-1" * 5),
    ("API_KEY", "{}", "sk-None-" + "a_B-1" * 5),
    ("API_KEY", "{}", "sk-" + "aB1d" * 8),
    ("API_KEY", "{}", "xoxb-1234567890"),
    ("API_KEY", "{}", "github_pat_" + "a1_B" * 5),
    ("API_KEY", "{}", "ghs_" + "a1B2" * 5),
    ("API_KEY", "{}.", "glpat-" + "a_B-1" * 4),
    ("API_KEY", "{}.", "glpat-" + "a_B-1" * 6 + ".01.0a1b2c3d4"),
    ("API_KEY", "{}", "sk_live_" + "a1B2" * 6),
    ("API_KEY", "{}", "rk_live_" + "a1B2" * 6),
    ("API_KEY", "{}", "hf_" + "aB" * 17),
    ("API_KEY", "{}", "npm_" + "a1B2" * 9),
    ("API_KEY", "?k={}&a", "AIzaSy" + "a_B-1" * 6 + "xyz"),
    ("API_KEY", "Authorization: Bearer {}", "sk-" + "aB1d" * 8),
    ("BEARER_TOKEN", "Authorization: Bearer {}", "abcdefghijklmnopqrstuvw1"),
    ("BEARER_TOKEN", "the TOKEN {} works", "a.b_c~d+e/f=g-h.1234567890"),
]

LEFT_ALONE = [
    "",
    "   ",
    "commit 9fceb02d0ae598e95dc970b74767f19372d61af8",
    "git_sha_key: 9fceb02d0ae598e95dc970b74767f19372d61af8",
    "id 123e4567-e89b-12d3-a456-426614174000, 11112222-3333-4444-5555-666677778888",
    "cache_key=123e4567-e89b-12d3-a456-426614174000",
    "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    "image@sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    "TWFuIGlzIGRpc3Rpbmd1aXNoZWQsIG5vdCBvbmx5IGJ5IGhpcyByZWFzb24sIGJ1dCBieSB0aGlz+/12==",
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAUA4111AAAAFCAYAAACNbyblAAAAHElEQVQI12P4",
    "UA" + "A2B3C4D" * 7 + "ABCDE",
    "user key: UA" + "A2B3C4D" * 7 + "ABCDE",
    "account public_key: MFwwDQYJKoZIhvcNAQEBBQADSwAwSAJBAK1",
    "export ANTHROPIC_API_KEY=sk-ant-...",
    "api_key: YOUR_API_KEY_GOES_HERE_1",
    "api_key: ${ANTHROPIC_API_KEY_2026}",
    'api_key = "<your-api-key-of-2026>"',
    "password: xxxxxxxxxxxxxxxx1",
    "Authorization: Bearer <token>",
    "Authorization: Bearer YOUR_LONG_TOKEN_GOES_HERE",
    "Copyright (c) 2009-2026 The Example Authors. All rights reserved.",
    "SPDX-License-Identifier: Apache-2.0",
    "// Licensed under the Apache License, Version 2.0 (the License)",
    "listening on 192.168.100.200:4222 and 10.0.0.1:65535",
    "nats://127.0.0.1:4222",
    "a token is an opaque string that authenticates its bearer",
    "the bearer authentication-scheme-of-oauth-two is described there",
    "token\nabcdefghijklmnopqrstuvwxyz1234567890",
    "Bearer token based authentication",
    "max_tokens: 4096, input_tokens: 123456789",
    "for key, value in sorted(table.items()): print(key)",
    "key = compute_key_v2(namespace, identifier)",
    "token = self.provider2.current_token",
    "password=settings.database_password_v2",
    "apiKey := os.Getenv(name2)",
    "def close(key: _win32typing.PyHKEY, token: _win32typing.PyHKEY)",
    "connect(token=default_token_v2_name)",
    "connect(token=default_token_v2_name, retries=3)",
    "password = default_password_v2_name",
    "const access_token = tokens_by_user2[user]",
    "x = 0.4111111111111111",
    "rate +1234567.891 and 1e+123456789",
    "@@ -1,7 +1,6 @@",
    "+12345678",
    "2026-11-30 17:52:16.123456 +0000",
    "ts 1764525136000000 1764525136000000000",
    "order-4111111111111111-b",
    "4111 1111 1111 1112",
    "DE89370400440532013001",
    "000-12-3456 666-12-3456 900-12-3456 123-00-4567 123-45-0000",
    "1-123-45-6789 and 123-45-6789-x",
    "Bob Smith met Alice Jones and Dr. Karl-Heinz Müller in New York",
    "/tmp/tmpWVWZZZ1JZXW000001/file-1HGCM82633A004352.log",
    "aVeryLongIdentifierNameThatGoesOnAndOn2 another_very_long_identifier_name_2026",
    "born in 1984, the passport control and the driver license agreement",
    "see the passport documentation 2.0",
    '{"passport":23596432.87708071,"driving licence":7903681960985.109}',
    "git clone git@github.com:choria-io/fisk.git",
    "npm i lodash@4.17.21 && go get github.com/a/b@v1.2.3-rc.beta",
    "icon@2x.png getty@tty1.service user@1000.service",
    "@app.route @dataclass",
    "this@MainActivity.context",
    '{"memories":[{"key":"release.2026.checklist","description":"d"}]}',
    '{"found":true,"key":"deploy_notes_2026-11-30","content":""}',
    '{"key":"2026-11-30T09:15:02.000Z"}',
    "ssl_key=/etc/ssl/private/server2.key",
    "secret: https://vault.internal/v1/kv/data2",
    "ssh host key: SHA256:nThbg6kXUpJWGl7E1IGOCspRomTxdCARLviKw6E5SY8",
    "nid_key = self._lib.NID_pbe_WithSHA1And3_Key_TripleDES_CBC",
    'toolskey = "VS%0.f0COMNTOOLS" % version',
    "secret: my-release-postgresql-16",
    "token: deprecated-since-1.24.0",
    *(
        f'{name}=aB3dE5gH7jK9mN1p {{"{name}": "aB3dE5gH7jK9mN1p"}}'
        for name in (
            "NextToken",
            "nextPageToken",
            "next_token",
            "NEXT_TOKEN",
            "pageToken",
            "--page-token",
            "pagetoken",
            "continuationToken",
            "next.token",
            "nextForwardToken",
            "syncToken",
            "cursor_token",
            "LastEvaluatedKey",
            "exclusiveStartKey",
            "monkey",
            "sortkey",
            "cache_key",
            "partitionKey",
            "primary_key",
            "foreign_key",
            "public_key",
            "publicKeyToken",
            "uploadSequenceToken",
            "NEXT_PAGE_TOKEN",
            "export PAGE_TOKEN",
            "Next token",
            "the next page token",
            "idempotency-key",
        )
    ),
    *(
        f"{words} {'aB3dE5gH7jK9mN1p' * 2}"
        for words in (
            "aws s3api --starting-token",
            "list --page-token",
            "the next token",
            "NextToken",
        )
    ),
    "secret=kubernetes.io/service-account-token1",
    "Basic training12 and basic authentication, Basic QUJDREVGR0hJ",
    "hf_" + "a" * 33 + " npm_" + "a" * 37 + " sk_test_" + "a1" * 12 + " AIza" + "a" * 36,
    "hotkey: ctrl+shift+alt+f12+meta",
    "PWD=/home/ann/aB3dE5gH7jK9mN1p",
    "OLDPWD=/srv/w1Rk2Sp3Ce4/aB3dE5gH7",
    'password: "The password must have at least 8 characters"',
    '{"secret": "name of the secret in release 2"}',
    "postgres://app:$DB_PASSWORD@db.example.com/main",
    "postgres://app:<password>@db/main and amqp://user:****@host",
    "https://example.com:8443/a@b and http://[::1]:8080/x@y",
    "ssh://git@github.com:22/a/b.git",
    "[EMAIL-REDACTED] [API_KEY-REDACTED]",
    "-----BEGIN PUBLIC KEY-----\nMFwwDQYJKoZIhvcNAQEBBQADSwAwSAJBAK\n-----END PUBLIC KEY-----",
    'if "-----BEGIN PRIVATE KEY-----" in text: return',
    "disk-" + "a" * 40 + " task-" + "b1" * 20,
    "sk-short1 ghp_short1 xoxb-short sk-ant-short",
    "S" + "A" * 60,
]


@pytest.mark.parametrize(("kind", "template", "value"), FOUND)
def test_a_value_is_replaced_by_its_type_and_nothing_else_changes(
    kind: str, template: str, value: str
) -> None:
    scan = build().scan(template.format(value))
    assert scan.text == template.format(f"[{kind}-REDACTED]")
    assert (scan.found, scan.count, kind in scan.types) == (True, len(scan.types), True)


@pytest.mark.parametrize(("kind", "template", "value"), FOUND)
def test_a_value_on_a_line_of_a_commands_output_is_found_in_its_json(
    kind: str, template: str, value: str
) -> None:
    printed = f"C:\\new\n{template.format(value)}\n\ttail"
    executed = CommandExec(command="show", exit_code=0)
    scan = build().scan(envelope.render(executed, printed))
    read = envelope.parse(scan.text)
    assert read is not None
    assert read.output == f"C:\\new\n{template.format(f'[{kind}-REDACTED]')}\n\ttail"


@pytest.mark.parametrize(("kind", "template", "value"), FOUND)
def test_a_value_in_json_inside_json_is_found(kind: str, template: str, value: str) -> None:
    inner = json.dumps({"line": f"head\n{template.format(value)}\n"})
    scan = build().scan(json.dumps({"output": inner}, ensure_ascii=False))
    assert kind in scan.types
    assert value not in json.loads(json.loads(scan.text)["output"])["line"]


@pytest.mark.parametrize("text", LEFT_ALONE)
def test_what_is_neither_personal_nor_a_credential_is_left_alone(text: str) -> None:
    scan = build().scan(text)
    assert (scan.found, scan.count, scan.types, scan.text) == (False, 0, (), text)


@pytest.mark.parametrize("text", [text for text in LEFT_ALONE if text.isascii()])
def test_the_same_holds_inside_a_commands_json(text: str) -> None:
    rendered = envelope.render(CommandExec(command="show", exit_code=0), f"a\n{text}\n")
    assert build().scan(rendered).text == rendered


def test_a_credentials_file_is_left_without_either_of_its_blocks() -> None:
    scan = build().scan(f"file:\n{BLOCK}\n\n{SEED_BLOCK}\n*** end")
    assert scan.text == "file:\n[NATS_CREDENTIALS-REDACTED]\n\n[NATS_SEED-REDACTED]\n*** end"


def test_markers_may_be_fenced_by_any_number_of_dashes_from_three() -> None:
    text = "---BEGIN NATS USER JWT-------\nx\n---- END NATS USER JWT -----"
    assert build().scan(text).text == "[NATS_CREDENTIALS-REDACTED]"
    two = "--BEGIN NATS USER JWT--\nx\n--END NATS USER JWT--"
    assert not build().scan(two).found


def test_a_block_ends_at_the_nearest_end() -> None:
    text = f"{BLOCK} kept {BLOCK}"
    assert build().scan(text).text == "[NATS_CREDENTIALS-REDACTED] kept [NATS_CREDENTIALS-REDACTED]"


def test_a_private_key_whose_end_was_cut_off_is_taken_as_far_as_it_goes() -> None:
    lines = "A1b2C3d4E5f6G7h8I9\n" * 3
    scan = build().scan(f"-----BEGIN PRIVATE KEY-----\n{lines}... and so on")
    assert scan.text == "[SECRET-REDACTED]\n... and so on"


ENCRYPTED = "Proc-Type: 4,ENCRYPTED\nDEK-Info: AES-256-CBC,0123456789ABCDEF0123456789ABCDEF\n\n"


@pytest.mark.parametrize("headers", [ENCRYPTED, ENCRYPTED.replace("\n", "\r\n"), "Version: 1\n\n"])
def test_an_encrypted_key_whose_end_was_cut_off_is_taken_too(headers: str) -> None:
    lines = "A1b2C3d4E5f6G7h8I9\n" * 3
    key = f"-----BEGIN RSA PRIVATE KEY-----\n{headers}{lines}"
    assert build().scan(f"{key}... and so on").text == "[SECRET-REDACTED]\n... and so on"
    rendered = envelope.render(CommandExec(command="show", exit_code=0), key)
    assert "A1b2" not in build().scan(rendered).text


def test_the_word_before_a_bearer_token_is_kept_as_it_was_written() -> None:
    scan = build().scan("bEaReR   abcdefghijklmnopqrstuvw1")
    assert scan.text == "bEaReR [BEARER_TOKEN-REDACTED]"


def test_a_value_is_counted_once_and_named_by_the_first_rule_that_fits() -> None:
    scan = build().scan("Bearer sk-ant-" + "a1" * 20)
    assert (scan.count, scan.types) == (1, ("API_KEY",))


def test_types_are_sorted_and_hold_no_value() -> None:
    scan = build().scan("+442071838750 a@example.com b@example.com")
    assert (scan.count, scan.types) == (3, ("EMAIL", "PHONE"))


def test_a_text_over_the_limit_is_refused_as_a_whole() -> None:
    scanner = build()
    assert not scanner.scan("x" * TEXT_LIMIT_BYTES).found
    with pytest.raises(FiskError, match=str(TEXT_LIMIT_BYTES)):
        scanner.scan("x" * (TEXT_LIMIT_BYTES - 1) + "é")


def test_a_closed_scanner_refuses() -> None:
    scanner = build()
    scanner.close()
    scanner.close()
    with pytest.raises(FiskError, match="closed"):
        scanner.scan("a@example.com")


@given(st.text())
@example("\ud83d \udc00a@example.com\ud800")
@example("\\\\\\nsk-ant-\\u0041\\u")
@example("\0\x01\u2028\u202e")
def test_any_text_is_scanned_and_a_second_scan_finds_nothing(text: str) -> None:
    scanner = build()
    scan = scanner.scan(text)
    assert not scanner.scan(scan.text).found
    if not scan.found:
        assert scan.text == text


@given(
    st.text(st.characters(exclude_categories=("Cs",)), max_size=20),
    st.sampled_from(FOUND),
    st.text(st.characters(exclude_categories=("Cs",)), max_size=20),
)
def test_what_surrounds_a_value_stays(before: str, found: tuple[str, str, str], after: str) -> None:
    _, template, value = found
    scan = build().scan(f"{before}\n\n{template.format(value)}\n\n{after}")
    assert value not in scan.text
    assert scan.text.count("\n") >= 4 + (before + after).count("\n")


@given(st.text(ALPHANUMERICS + "-_.+/=@:\\ \n", max_size=200))
def test_json_stays_json(text: str) -> None:
    rendered = json.dumps({"output": text, "more": [text]})
    assert set(json.loads(build().scan(rendered).text)) == {"output", "more"}


def test_importing_the_scanner_compiles_nothing() -> None:
    code = "import sys; from fisk_ai.agent.pii import guard, scanner; print('re2' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


def test_a_scanner_that_cannot_be_built_is_a_refusal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "re2", None)
    with pytest.raises(SetupError, match="cannot be built") as caught:
        build()
    assert caught.value.key == "harness.pii.mode"
