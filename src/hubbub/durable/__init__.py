"""The one way to disk: canonical JSON, files that are whole, journals, keys that sign, SQLite that forces every commit.

``canonical_json`` is the text that hashes and signatures are made of. ``replace_file`` and ``replacing_file`` put a
file in place whole or not at all. ``Journal`` is a file of lines, each on disk before it counts. ``signing`` has
Ed25519, and ``log_ahead`` prepares a connection to SQLite. Start with ``files``. Nothing outside this floor syncs or
renames files, or sorts the keys of JSON (``tests/test_layers.py``).
"""

from hubbub.durable.canonical import canonical_json
from hubbub.durable.files import (
    PRIVATE,
    SHARED,
    claim_name,
    lock_file,
    locked,
    make_private_folder,
    put_in_place,
    replace_file,
    replacing_file,
    sync_data,
    sync_folder,
    write_fully,
    write_new_file,
)
from hubbub.durable.journal import Journal
from hubbub.durable.signing import (
    SigningKey,
    VerifyingKey,
    new_signing_key,
    public_key_hex,
    signature_holds,
    signing_key,
    signing_key_hex,
    verifying_key,
    verifying_key_from_hex,
)
from hubbub.durable.sqlite import log_ahead

__all__ = [
    "PRIVATE",
    "SHARED",
    "Journal",
    "SigningKey",
    "VerifyingKey",
    "canonical_json",
    "claim_name",
    "lock_file",
    "locked",
    "log_ahead",
    "make_private_folder",
    "new_signing_key",
    "public_key_hex",
    "put_in_place",
    "replace_file",
    "replacing_file",
    "signature_holds",
    "signing_key",
    "signing_key_hex",
    "sync_data",
    "sync_folder",
    "verifying_key",
    "verifying_key_from_hex",
    "write_fully",
    "write_new_file",
]
