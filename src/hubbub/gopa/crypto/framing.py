"""What is hashed, so that it can be taken for nothing else: our name, and parts with their lengths."""

from __future__ import annotations

NAME = b"hubbub/gopa/v1"


def frame_parts(*parts: bytes) -> bytes:
    """The parts with their lengths, so that no two lists of parts give the same bytes."""
    return b"".join([piece for part in parts for piece in (len(part).to_bytes(8, "little"), part)])
