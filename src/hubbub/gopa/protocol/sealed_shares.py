"""Sealed shares: what a party leaves with its holders, closed so that only the holder can open it.

A share is of two secrets, the seed of the self mask and the mask key. Seals have keys of their own: a mask key may
become public in a repair, a seal key never does.
"""

from __future__ import annotations

from dataclasses import dataclass

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305

from hubbub.gopa.crypto.ristretto import decode_scalar, encode_scalar
from hubbub.gopa.crypto.secret_streams import Stream
from hubbub.gopa.protocol.masks import MaskContext, encode_place

SEALED = 64 + 16  # bytes of a sealed share


@dataclass(frozen=True, slots=True, repr=False)
class Share:
    """A holder's share of a party's two secrets: the seed of its self mask, and its mask key."""

    seed: int
    key: int

    def encoded(self) -> bytes:
        return encode_scalar(self.seed) + encode_scalar(self.key)

    @classmethod
    def decoded(cls, data: bytes) -> Share | None:
        seed, key = decode_scalar(data[:32]), decode_scalar(data[32:])
        return None if seed is None or key is None else cls(seed, key)


def seal(view: MaskContext, dealer: int, holder: int, shared: bytes, share: Share) -> bytes:
    """A dealer's share, closed for its holder. There is one share for each key, so the nonce is zero."""
    return _share_cipher(view, dealer, holder, shared).encrypt(bytes(12), share.encoded(), view.run)


def unseal(view: MaskContext, dealer: int, holder: int, shared: bytes, sealed: bytes) -> Share | None:
    """The share that was sealed, or None."""
    try:
        return Share.decoded(_share_cipher(view, dealer, holder, shared).decrypt(bytes(12), sealed, view.run))
    except InvalidTag:
        return None


def _share_cipher(view: MaskContext, dealer: int, holder: int, shared: bytes) -> ChaCha20Poly1305:
    names = (encode_place(dealer), encode_place(holder))
    return ChaCha20Poly1305(Stream(shared, "seal", view.run, view.hash, *names).take(32))
