"""Keys and credentials files: the published vectors of Ed25519, and what is no key."""

from __future__ import annotations

import base64
import binascii
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fisk_ai.bus import credentials
from fisk_ai.errors import SetupError

SeedText = Callable[..., str]

VECTORS = [
    (
        "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60",
        "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a",
        "",
        (
            "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e06522490155"
            "5fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b"
        ),
    ),
    (
        "4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb",
        "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c",
        "r",
        (
            "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da"
            "085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00"
        ),
    ),
]


@pytest.mark.parametrize(("seed", "public", "message", "signature"), VECTORS)
def test_a_signature_is_that_of_the_published_vectors(
    seed_text: SeedText, seed: str, public: str, message: str, signature: str
) -> None:
    key = credentials.read_key(seed_text(bytes.fromhex(seed)), "it")
    assert base64.b32decode(key.public())[1:33].hex() == public
    assert base64.b64decode(key.sign(message)).hex() == signature


def test_a_seed_reads_back_and_names_its_public_key(seed_text: SeedText) -> None:
    key = credentials.read_key(f"\n{seed_text(b'x' * 32)}\n", "it")
    assert key.public().startswith("U")
    assert len(key.public()) == 56


@given(st.integers(0, 57), st.sampled_from("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"))
def test_a_mistyped_seed_is_refused_and_never_shown(position: int, letter: str) -> None:
    raw = bytes([18 << 3 | 160 >> 5, 0]) + b"x" * 32
    checksum = binascii.crc_hqx(raw, 0).to_bytes(2, "little")
    text = base64.b32encode(raw + checksum).decode().rstrip("=")
    typed = text[:position] + letter + text[position + 1 :]
    if typed == text:
        return
    with pytest.raises(SetupError) as caught:
        credentials.read_key(typed, "the seed")
    assert typed not in str(caught.value)


@pytest.mark.parametrize("text", ["", "S", "not a seed!", "UABC", "\u00e4" * 58])
def test_what_is_no_seed_is_refused(text: str) -> None:
    with pytest.raises(SetupError, match="the seed is no nkey seed"):
        credentials.read_key(text, "the seed")


@pytest.mark.parametrize("content", [b"", b"\xff\xfe", b"-----BEGIN NATS USER JWT-----\nx\n"])
def test_a_file_without_a_token_and_a_seed_is_no_credentials_file(
    tmp_path: Path, content: bytes
) -> None:
    file = tmp_path / "user.creds"
    file.write_bytes(content)
    with pytest.raises(SetupError, match="its creds is no credentials file"):
        credentials.read_credentials(file, "its creds")


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("gone", "No such file or directory"),
        ("pipe", "it is no regular file"),
        ("folder", "it is no regular file"),
        ("seed" * 100, "File name too long"),
        ("a\0b", "it names no file"),
    ],
)
def test_what_is_no_file_is_told_at_once_and_without_its_path(
    tmp_path: Path, name: str, reason: str
) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    for read in (credentials.read_credentials, credentials.read_key_file):
        with pytest.raises(SetupError) as caught:
            read(tmp_path / name, "its creds")
        assert str(caught.value) == f"its creds cannot be read: {reason}"


def test_a_link_to_a_credentials_file_is_followed(tmp_path: Path, seed_text: SeedText) -> None:
    (tmp_path / "seed").write_text(seed_text(b"x" * 32))
    (tmp_path / "link").symlink_to(tmp_path / "seed")
    assert credentials.read_key_file(tmp_path / "link", "it").public().startswith("U")


def test_no_secret_shows_in_a_representation(seed_text: SeedText) -> None:
    key = credentials.read_key(seed_text(b"x" * 32), "it")
    assert "xxx" not in repr(credentials.Credentials("token", key))
    assert "token" not in repr(credentials.Credentials("token", key))
