"""The second place: a folder, best on another disk, with the key that signs the ledger and the anchors of its heads.

    <state>/locations/<hash of where the ledger is>   which ledger was last seen there
    <state>/<ledger's id>/key                         the private key (mode 600)
    <state>/<ledger's id>/*.anchor                    see ``anchors``

``<state>`` is the argument ``state=``, else ``$HUBBUB_STATE``, else ``$XDG_STATE_HOME/hubbub``, else
``~/.local/state/hubbub``.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

from hubbub.durable import (
    SigningKey,
    make_private_folder,
    new_signing_key,
    public_key_hex,
    replace_file,
    signature_holds,
    signing_key,
    signing_key_hex,
    verifying_key_from_hex,
)
from hubbub.ledger.book.chain import sha256_hex
from hubbub.terms import LedgerUnavailable, MissingKey

STATE = "HUBBUB_STATE"  # environment variable: where the second place is
_ID = re.compile(r"[0-9a-f]{32}")


class SecondPlace:
    """The second place of all ledgers of this machine."""

    def __init__(self, folder: str | Path | None) -> None:
        self.folder = Path(folder).expanduser().resolve() if folder is not None else _default_folder()

    def of(self, ledger: str) -> Path:
        """The folder of one ledger; an altered book may name anything, and gets a folder that is not there."""
        return self.folder / (ledger if _ID.fullmatch(ledger) else "unknown")

    def known(self, location: str) -> str | None:
        """The ledger that was last seen at a location, if any."""
        try:
            name = (self.folder / "locations" / sha256_hex(location)).read_text().strip()
        except OSError:
            return None
        return name if _ID.fullmatch(name) else None

    def note(self, location: str, ledger: str) -> None:
        """Remember which ledger is at a location."""
        if self.known(location) != ledger:
            _write_privately(self.folder / "locations" / sha256_hex(location), ledger + "\n")

    def new_key(self, ledger: str) -> SigningKey:
        """A key for a new ledger, on disk before the ledger is."""
        key = new_signing_key()
        _write_privately(self.of(ledger) / "key", signing_key_hex(key) + "\n")
        return key

    def key(self, ledger: str, public: str) -> SigningKey:
        """The key that signs a ledger."""
        try:
            key = signing_key(bytes.fromhex((self.of(ledger) / "key").read_text()))
        except (OSError, ValueError):
            key = None
        if key is None or public_key_hex(key) != public:
            raise MissingKey(
                "the key that signs this ledger is not here.",
                why="Entries are written only by those who hold its key, which was made together with the ledger.",
                fix=f"Copy the ledger's folder from the machine that made it into the place that {STATE} names.",
            )
        return key


def head_is_signed(public: str, head: bytes, signature: bytes) -> bool:
    """Whether a signature of a head was made with the ledger's key."""
    return signature_holds(verifying_key_from_hex(public), head, signature)


def _write_privately(path: Path, text: str) -> None:
    """Write a small file so that it is there whole, or not at all, whatever happens; for its owner's eyes only."""
    try:
        make_private_folder(path.parent)
        replace_file(path, text.encode())
    except OSError as error:
        raise no_place() from error


def no_place() -> LedgerUnavailable:
    """The refusal when the second place cannot be used."""
    return LedgerUnavailable(
        "the second place of the ledger could not be used.",
        why="A head is anchored there before an answer is shown, so that a cut tail or an old backup is noticed.",
        fix=f"Make the folder that {STATE} names writable, or give state=... a folder that is.",
    )


def _default_folder() -> Path:
    if named := os.environ.get(STATE):
        return Path(named).expanduser().resolve()
    base = os.environ.get("XDG_STATE_HOME") or "~/.local/state"
    return Path(base).expanduser() / "hubbub"
