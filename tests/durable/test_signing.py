"""Keys and signatures: what was signed holds, and nothing else does."""

from __future__ import annotations

import pytest

from hubbub.durable import (
    new_signing_key,
    public_key_hex,
    signature_holds,
    signing_key,
    signing_key_hex,
    verifying_key,
    verifying_key_from_hex,
)

# RFC 8032, section 7.1, tests 1 and 2
VECTORS = [
    (
        "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60",
        "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a",
        "",
        "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24"
        "655141438e7a100b",
    ),
    (
        "4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb",
        "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c",
        "72",
        "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aee"
        "b00d291612bb0c00",
    ),
]


@pytest.mark.parametrize(("secret", "public", "message", "signature"), VECTORS)
def test_signatures_are_those_of_the_standard(secret: str, public: str, message: str, signature: str) -> None:
    key = signing_key(bytes.fromhex(secret))
    assert (signing_key_hex(key), public_key_hex(key)) == (secret, public)
    assert key.sign(bytes.fromhex(message)).hex() == signature
    assert signature_holds(verifying_key_from_hex(public), bytes.fromhex(message), bytes.fromhex(signature))


def test_nothing_else_holds() -> None:
    key, other = new_signing_key(), new_signing_key()
    public, signature = verifying_key_from_hex(public_key_hex(key)), key.sign(b"message")
    assert signature_holds(public, b"message", signature)
    assert not signature_holds(public, b"massage", signature)
    assert not signature_holds(verifying_key_from_hex(public_key_hex(other)), b"message", signature)
    assert not signature_holds(None, b"message", signature)
    assert not any(signature_holds(public, b"message", wrong) for wrong in (b"", signature[:-1], signature + b"\0"))
    assert not any(
        signature_holds(public, b"message", bytes([*signature[:i], signature[i] ^ 1, *signature[i + 1 :]]))
        for i in range(64)
    )


@pytest.mark.parametrize("text", ["", "ab", "zz" * 32, "00" * 31, "00" * 33, "é"])
def test_what_is_no_key_is_none(text: str) -> None:
    assert verifying_key_from_hex(text) is None


@pytest.mark.parametrize("length", [0, 31, 33])
def test_bytes_of_another_length_are_no_key(length: int) -> None:
    assert verifying_key(bytes(length)) is None
    with pytest.raises(ValueError, match="32 bytes"):
        signing_key(bytes(length))
