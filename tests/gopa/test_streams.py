"""Keys from a secret: the same as those of a library that is not ours."""

from __future__ import annotations

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from hypothesis import given
from hypothesis import strategies as st

from hubbub.gopa.crypto.secret_streams import Stream, derive_key


@given(st.binary(min_size=32, max_size=32), st.binary(max_size=200))
def test_keys_are_those_of_hkdf(secret: bytes, info: bytes) -> None:
    assert derive_key(secret, info) == HKDF(hashes.SHA512(), 32, None, info).derive(secret)


def test_another_secret_label_or_part_gives_another_stream() -> None:
    drawn = {
        Stream(secret, label, part).take(16)
        for secret in (bytes(32), bytes([1]) * 32)
        for label in ("a", "b")
        for part in (b"x", b"y")
    }
    assert len(drawn) == 8
