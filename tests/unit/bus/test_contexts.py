"""Named connections: what a context file may say, and real servers that ask for each login."""

from __future__ import annotations

import asyncio
import base64
import json
import os
import shutil
import subprocess
from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fisk_ai.bus import contexts, credentials
from fisk_ai.bus.connection import ConnectOptions, connect
from fisk_ai.bus.contexts import Context
from fisk_ai.bus.options import Tls
from fisk_ai.errors import ConfigError, FiskError, SetupError

Serve = Callable[[str], AbstractAsyncContextManager[str]]
SeedText = Callable[..., str]
Write = Callable[..., Context]

OPERATOR, ACCOUNT, USER = 14 << 3, 0, 20 << 3


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    (tmp_path / "config" / "nats" / "context").mkdir(parents=True)
    return {"XDG_CONFIG_HOME": str(tmp_path / "config"), "HOME": str(tmp_path / "home")}


@pytest.fixture
def write(environ: dict[str, str]) -> Write:
    """Write the context ``prod`` and load it."""

    def _write(**written: object) -> Context:
        contexts.path_of("prod", environ).write_text(json.dumps(written))
        return contexts.load("prod", environ)

    return _write


async def reaches(options: ConnectOptions) -> str:
    """Connect, and return the connection's own inbox."""
    connection = await connect(options)
    try:
        inbox = await connection.open_inbox()
        await inbox.close()
        return inbox.subject
    finally:
        await connection.drain()


def test_a_context_is_looked_for_where_the_nats_command_keeps_it(tmp_path: Path) -> None:
    home = {"HOME": str(tmp_path)}
    assert contexts.path_of("a", home) == tmp_path / ".config" / "nats" / "context" / "a.json"
    xdg = {**home, "XDG_CONFIG_HOME": "/etc/x"}
    assert contexts.path_of("a", xdg) == Path("/etc/x/nats/context/a.json")
    assert not contexts.exists("a", home)


@pytest.mark.parametrize("name", ["", "..", "a/b", "../a", "a\\b", "a\0", "a" * 251, "\ud800"])
def test_a_name_that_could_lead_elsewhere_is_refused(name: str) -> None:
    for use in (contexts.load, contexts.exists):
        with pytest.raises(ConfigError, match="names no context") as caught:
            use(name, {})
        assert len(str(caught.value)) < 200


def test_every_key_of_a_context_is_read(write: Write, tmp_path: Path) -> None:
    texts = {
        name: f"the {name}"
        for name in Context.__struct_fields__
        if name not in ("name", "tls_first", "socks_proxy", "inbox_prefix")
    }
    context = write(
        **{**texts, "creds": "~/a.creds"},
        inbox_prefix="_INBOX_w",
        tls_first=True,
        description="ours",
        color_scheme="blue",
        of_a_newer_release=[1],
    )
    assert context.creds == str(tmp_path / "home" / "a.creds")
    for name in set(texts) - {"creds"}:
        assert getattr(context, name) == f"the {name}"
    assert context.inbox_prefix == "_INBOX_w"
    assert context.tls_first
    assert repr(context) == "Context(name='prod')"


def test_an_empty_context_is_a_broker_on_this_machine(write: Write) -> None:
    options = write().options("purpose")
    assert options == ConnectOptions("nats://127.0.0.1:4222", "purpose", context="prod")


def test_of_several_ways_to_log_in_the_first_in_order_counts(write: Write) -> None:
    everything = {
        "user": "u",
        "password": "p",
        "creds": "/c",
        "nkey": "/n",
        "user_jwt": "j",
        "user_seed": "s",
        "token": "t",
    }
    chosen: list[str] = []
    while everything:
        options = write(**everything).options("x")
        given = [name for name in everything if getattr(options, name, "")]
        chosen.append(" ".join(given))
        for name in given:
            del everything[name]
    assert chosen == ["user password", "creds", "nkey", "user_jwt user_seed", "token"]


def test_what_encrypts_and_whose_inbox_it_is_reach_the_connection(write: Write) -> None:
    options = write(ca="/ca", cert="/c", key="/k", tls_first=True, inbox_prefix="_INBOX_w")
    assert options.options("x").tls == Tls(ca="/ca", cert="/c", key="/k", first=True)
    assert options.options("x").inbox_prefix == "_INBOX_w"


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ({"password": 7}, "its password must be text"),
        ({"tls_first": "yes"}, "its tls_first must be true or false"),
        ({"socks_proxy": "socks5://u:hunter2@h"}, "its socks_proxy is not built yet"),
        ({"nsc": "nsc://o/a/u"}, "its nsc is not built yet"),
        ({"user_jwt": "hunter2"}, "its user_jwt needs the user_seed"),
        ({"cert": "/c"}, "its cert and key belong together"),
        ({"key": "/k"}, "its cert and key belong together"),
    ],
)
def test_what_no_connection_could_use_is_refused_without_its_value(
    write: Write, written: dict[str, object], said: str
) -> None:
    with pytest.raises(SetupError) as caught:
        write(**written)
    assert f'connecting to NATS context "prod": {said}' in str(caught.value)
    assert "hunter2" not in str(caught.value)
    assert caught.value.key == "nats_context"


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "is no JSON"),
        (b'{"password": "hunter2"', "is no JSON"),
        (b"\xff", "is no JSON"),
        (b"[]", "must hold one JSON object"),
        (b"7", "must hold one JSON object"),
        (b" " * 70_000, "is too large"),
        (b'{"password": "hunter2", "url": null}', "its url must be text"),
    ],
)
def test_a_file_that_is_no_context_is_refused_by_its_name(
    environ: dict[str, str], content: bytes, said: str
) -> None:
    contexts.path_of("prod", environ).write_bytes(content)
    with pytest.raises(SetupError, match=said) as caught:
        contexts.load("prod", environ)
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize("what", ["pipe", "device", "folder", "loop"])
def test_what_is_no_file_counts_as_a_context_and_is_refused(
    environ: dict[str, str], what: str
) -> None:
    path = contexts.path_of("prod", environ)
    make: dict[str, Callable[[], object]] = {
        "pipe": lambda: os.mkfifo(path),
        "device": lambda: path.symlink_to("/dev/zero"),
        "folder": path.mkdir,
        "loop": lambda: path.symlink_to(path),
    }
    make[what]()

    assert contexts.exists("prod", environ)
    said = "it is a link that leads back to itself" if what == "loop" else "it is no regular file"
    with pytest.raises(SetupError, match=rf'prod\.json" cannot be read: {said}'):
        contexts.load("prod", environ)


def test_a_context_behind_a_link_is_read_and_one_that_leads_nowhere_is_refused(
    environ: dict[str, str], tmp_path: Path
) -> None:
    contexts.path_of("prod", environ).symlink_to(tmp_path / "kept.json")
    assert contexts.exists("prod", environ)
    with pytest.raises(SetupError, match="does not exist"):
        contexts.load("prod", environ)

    (tmp_path / "kept.json").write_text('{"url": "nats://h:1"}')
    assert contexts.load("prod", environ).url == "nats://h:1"


def test_a_directory_that_cannot_be_looked_into_is_no_missing_context() -> None:
    with pytest.raises(SetupError, match=r'NATS context "prod": .* cannot be read: File name'):
        contexts.exists("prod", {"XDG_CONFIG_HOME": "/" + "x" * 5000})


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ({"creds": "/hunter2"}, "its creds cannot be read: No such file or directory"),
        ({"nkey": "/hunter2"}, "its nkey cannot be read: No such file or directory"),
        ({"nkey": "SUAhunter2" + "x" * 300}, "its nkey cannot be read: File name too long"),
        ({"user_jwt": "j", "user_seed": "hunter2"}, "its user_seed is no nkey seed"),
        ({"ca": "/hunter2"}, "its ca cannot be used: No such file or directory"),
        ({"cert": "/hunter2", "key": "/k"}, "its cert cannot be used: No such file"),
        ({"cert": "/etc/passwd", "key": "/hunter2"}, "its key cannot be used: No such file"),
        ({"cert": "/etc/passwd", "key": "/etc/passwd"}, "its cert with its key cannot be used"),
        ({"ca": "/dev/zero"}, "its ca cannot be used: it is no regular file"),
        ({"url": "ws://hunter2:1"}, "its url is no NATS address"),
        ({"url": "nats://u:hunter/2@h"}, "its url is no NATS address"),
        ({"inbox_prefix": "hunter2.>"}, "its inbox_prefix is no list"),
        ({"inbox_prefix": "choria.fisk-ai.task"}, "its inbox_prefix names a subject"),
    ],
)
async def test_a_context_that_cannot_be_used_is_refused_by_its_key_alone(
    write: Write, written: dict[str, object], said: str
) -> None:
    with pytest.raises(FiskError) as caught:
        await connect(write(**written).options("x"))
    assert str(caught.value).startswith(f'connecting to NATS context "prod": {said}')
    assert "hunter" not in str(caught.value)


@given(
    st.dictionaries(
        st.sampled_from([*Context.__struct_fields__, "description"]),
        st.one_of(st.text(max_size=5), st.booleans(), st.none(), st.integers()),
    )
)
def test_whatever_a_context_holds_it_is_read_or_refused_in_a_sentence(
    written: dict[str, object],
) -> None:
    with TemporaryDirectory() as folder:
        environ = {"XDG_CONFIG_HOME": folder}
        path = contexts.path_of("prod", environ)
        path.parent.mkdir(parents=True)
        path.write_text(json.dumps(written))
        try:
            said = str(contexts.load("prod", environ).options("x").place())
        except SetupError as exc:
            said = str(exc)
    assert said.startswith(('NATS context "prod" at ', 'connecting to NATS context "prod": its '))


def test_a_context_that_is_not_there_is_told_with_what_to_do(environ: dict[str, str]) -> None:
    with pytest.raises(SetupError) as caught:
        contexts.load("prod", environ)
    assert "prod.json" in str(caught.value)
    assert "does not exist" in str(caught.value)
    assert "FISK_AI_NATS_URL" in str(caught.value)


async def test_a_user_and_a_password_open_a_connection(serve: Serve, write: Write) -> None:
    async with serve('listen: "127.0.0.1:-1"\nauthorization {user: u, password: "p w"}') as url:
        context = write(url=url, user="u", password="p w", inbox_prefix="_INBOX_worker")
        assert (await reaches(context.options("test"))).startswith("_INBOX_worker.")


async def test_a_wrong_password_is_refused_by_the_name_of_the_context(
    serve: Serve, write: Write
) -> None:
    async with serve('listen: "127.0.0.1:-1"\nauthorization {user: u, password: right}') as url:
        context = write(url=url, user="u", password="hunter2")
        with pytest.raises(SetupError) as caught:
            await connect(context.options("test"))
    assert str(caught.value).startswith(f'connecting to NATS context "prod" at {url}: ')
    assert "hunter2" not in str(caught.value)


async def test_a_token_opens_a_connection(serve: Serve, write: Write) -> None:
    async with serve('listen: "127.0.0.1:-1"\nauthorization {token: "t0k3n"}') as url:
        assert await reaches(write(url=url, token="t0k3n").options("test"))


async def test_a_key_file_opens_a_connection(
    serve: Serve, write: Write, seed_text: SeedText, tmp_path: Path
) -> None:
    seed = seed_text(b"k" * 32)
    (tmp_path / "user.nk").write_text(f"{seed}\n")
    public = credentials.read_key(seed, "it").public()
    users = f'listen: "127.0.0.1:-1"\nauthorization {{users: [{{nkey: {public}}}]}}'
    async with serve(users) as url:
        context = write(url=url, nkey=str(tmp_path / "user.nk"))
        assert await reaches(context.options("test"))
        (tmp_path / "user.nk").write_text(seed_text(b"other" + b"k" * 27))
        with pytest.raises(SetupError):
            await connect(replace(context.options("test"), connect_timeout_s=0.5))


class Authority:
    """Signs the tokens of an operator, an account and a user."""

    def __init__(self, seed_text: SeedText) -> None:
        self.seeds = {
            kind: seed_text(name * 32, kind)
            for kind, name in ((OPERATOR, b"o"), (ACCOUNT, b"a"), (USER, b"u"))
        }

    def key(self, kind: int) -> credentials.Key:
        return credentials.read_key(self.seeds[kind], "it")

    def token(self, kind: int, issuer: int, claims: Mapping[str, object]) -> str:
        body: dict[str, object] = {"iss": self.key(issuer).public(), "iat": 1, "jti": "j"}
        body |= {"sub": self.key(kind).public(), "name": "n", "nats": {"version": 2, **claims}}
        header = {"typ": "JWT", "alg": "ed25519-nkey"}
        signed = ".".join(_url(json.dumps(part).encode()) for part in (header, body))
        signature = base64.b64decode(self.key(issuer).sign(signed))
        return f"{signed}.{_url(signature)}"

    def server(self) -> str:
        limits = dict.fromkeys(
            ("subs", "data", "payload", "imports", "exports", "conn", "leaf"), -1
        )
        account = {"type": "account", "limits": {**limits, "wildcards": True}}
        operator = self.token(OPERATOR, OPERATOR, {"type": "operator"})
        preload = f"{self.key(ACCOUNT).public()}: {self.token(ACCOUNT, OPERATOR, account)}"
        return (
            f'listen: "127.0.0.1:-1"\noperator: {operator}\n'
            f"resolver: MEMORY\nresolver_preload: {{ {preload} }}\n"
        )

    def user(self) -> str:
        bounds = dict.fromkeys(("subs", "data", "payload"), -1)
        return self.token(USER, ACCOUNT, {"type": "user", "pub": {}, "sub": {}, **bounds})


def _url(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).decode().rstrip("=")


@pytest.mark.parametrize("form", ["creds", "user_jwt"])
async def test_the_token_of_a_user_and_its_seed_open_a_connection(
    serve: Serve, write: Write, seed_text: SeedText, tmp_path: Path, form: str
) -> None:
    authority = Authority(seed_text)
    token, seed = authority.user(), authority.seeds[USER]
    (tmp_path / "user.creds").write_text(
        f"-----BEGIN NATS USER JWT-----\n{token}\n------END NATS USER JWT------\n\n"
        f"-----BEGIN USER NKEY SEED-----\n{seed}\n------END USER NKEY SEED------\n"
    )
    login = {"user_jwt": token, "user_seed": seed}
    if form == "creds":
        login = {"creds": str(tmp_path / "user.creds")}
    async with serve(authority.server()) as url:
        assert await reaches(write(url=url, **login).options("test"))


@pytest.fixture
def certificate(tmp_path: Path) -> Path:
    """A certificate of this machine, with its key beside it."""
    openssl = shutil.which("openssl")
    if openssl is None:
        pytest.skip("openssl is not installed; it makes the certificate of this test")
    key, cert = tmp_path / "key.pem", tmp_path / "cert.pem"
    subprocess.run(
        [
            *(openssl, "req", "-x509", "-nodes", "-days", "2", "-subj", "/CN=localhost"),
            *("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"),
            *("-addext", "subjectAltName=IP:127.0.0.1"),
            *("-keyout", str(key), "-out", str(cert)),
        ],
        check=True,
        capture_output=True,
    )
    return cert


def encrypted(certificate: Path, more: str = "") -> str:
    key = certificate.with_name("key.pem")
    files = f'cert_file: "{certificate}", key_file: "{key}", ca_file: "{certificate}"'
    return f'listen: "127.0.0.1:-1"\ntls {{ {files}{more} }}\n'


@pytest.mark.parametrize("first", [False, True])
async def test_both_sides_know_each_other_by_certificate(
    serve: Serve,
    write: Write,
    certificate: Path,
    first: bool,  # noqa: FBT001 - how the handshake goes
) -> None:
    more = ", verify: true" + ", handshake_first: true" * first
    files = {"cert": str(certificate), "key": str(certificate.with_name("key.pem"))}
    async with serve(encrypted(certificate, more)) as url:
        context = write(url=url, ca=str(certificate), tls_first=first, **files)
        assert await reaches(context.options("test"))


async def test_a_server_that_is_not_believed_is_not_spoken_to(
    serve: Serve, write: Write, certificate: Path
) -> None:
    async with serve(encrypted(certificate)) as url:
        options = replace(write(url=url, token="t").options("test"), connect_timeout_s=60)
        with pytest.raises(SetupError, match=r"(?i)certificate"):
            await asyncio.wait_for(connect(options), 10)


@pytest.mark.parametrize("how", ["tls address", "authority"])
async def test_nobody_logs_in_to_a_server_that_does_not_encrypt(
    serve: Serve, write: Write, certificate: Path, how: str
) -> None:
    async with serve('listen: "127.0.0.1:-1"\nauthorization {token: t}') as url:
        address = url.replace("nats://", "tls://") if how == "tls address" else url
        written = {"ca": str(certificate)} if how == "authority" else {}
        options = write(url=address, token="t", **written).options("test")
        with pytest.raises(SetupError, match="secure connection not available"):
            await asyncio.wait_for(connect(replace(options, connect_timeout_s=60)), 10)


@pytest.fixture
def locked_key(certificate: Path) -> Path:
    """The key of the certificate, locked by a password."""
    key, locked = certificate.with_name("key.pem"), certificate.with_name("locked.pem")
    subprocess.run(
        [*("openssl", "pkcs8", "-topk8", "-passout", "pass:hunter2"), "-in", key, "-out", locked],
        check=True,
        capture_output=True,
    )
    return locked


async def test_a_key_that_is_locked_is_told_and_nobody_is_asked_for_its_password(
    write: Write, certificate: Path, locked_key: Path
) -> None:
    context = write(cert=str(certificate), key=str(locked_key))
    with pytest.raises(SetupError, match="its cert with its key cannot be used: the key is locked"):
        await connect(context.options("test"))


@pytest.mark.parametrize("named", ["prod", ""])
def test_the_inboxes_of_a_command_are_those_of_its_variable_before_the_contexts(
    write: Write, environ: dict[str, str], named: str
) -> None:
    write(url="nats://a:1", inbox_prefix="_INBOX_context")
    environ["FISK_AI_NATS_URL"] = "nats://b:2"
    told = contexts.from_environment(named, "test", environ)
    assert told.inbox_prefix == ("_INBOX_context" if named else "_INBOX")
    environ["FISK_AI_NATS_INBOX_PREFIX"] = "_INBOX_peer"
    assert contexts.from_environment(named, "test", environ).inbox_prefix == "_INBOX_peer"
