"""The files of ``hubbub gopa``: identities, rosters, agreements and logs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from hubbub.gopa import Agreement, Certificate, Identity, Member

_FORMAT = "gopa-identity/1"
_MOST = 1 << 30  # bytes of a log


def write_identity(path: Path, identity: Identity) -> None:
    """A new file that only its owner can read; one that is there is kept."""
    document = {"hubbub": _FORMAT, "name": identity.name, "secret": identity.secret.hex()}
    write_new(path, json.dumps(document) + "\n", mode=0o600)


def read_identity(path: Path) -> Identity:
    """The identity in a file."""
    from hubbub.gopa import Identity
    from hubbub.terms import Unreadable

    try:
        document = json.loads(text_of(path))
        secret = bytes.fromhex(document["secret"])
        if document["hubbub"] == _FORMAT and len(secret) == 32:
            identity = Identity(str(document["name"]), secret)
            assert identity.member
            return identity
    except (ValueError, LookupError, TypeError):
        pass
    raise Unreadable(
        f"{path} holds no identity.",
        why="An identity is a name and a private key, as `hubbub gopa identity` writes it.",
        fix="Name that file, or make one: `hubbub gopa identity NAME`.",
    )


def read_roster(path: Path) -> tuple[Member, ...]:
    """A roster: on each line a name and a public key; empty lines and those that begin with # are passed over."""
    from hubbub.gopa import Member
    from hubbub.terms import Unreadable

    members = []
    for number, line in enumerate(text_of(path).splitlines(), start=1):
        words = line.split()
        if not words or words[0].startswith("#"):
            continue
        try:
            name, key = words
            members.append(Member(name, bytes.fromhex(key)))
        except ValueError:
            raise Unreadable(
                f"line {number} of {path} is not a name and a public key.",
                why="The roster says who takes part: NAME and 64 hexadecimal digits.",
                fix="Copy the line that `hubbub gopa identity` prints.",
            ) from None
    return tuple(members)


def read_key(text: str, name: str) -> bytes:
    """A public key as it was typed."""
    try:
        key = bytes.fromhex(text)
    except ValueError:
        key = b""
    if len(key) != 32:
        raise typer.BadParameter("it is 64 hexadecimal digits.", param_hint=name)
    return key


def read_agreement(path: Path) -> Agreement:
    """The agreement in a file."""
    from hubbub.gopa import Agreement

    return Agreement.read(text_of(path).rstrip("\n"))


def verify_logs(logs: list[Path], **pins: Any) -> Certificate:
    """What the last of some logs shows, each resting on the inputs of the one before; ``pins`` say which is meant.

    The earlier ones need no pins: each agreement names the run on which it rests.
    """
    from hubbub.gopa import verify

    certificate = None
    for path in logs:
        earlier = None if certificate is None else certificate.inputs
        certificate = verify(bytes_of(path), earlier=earlier, **(pins if path is logs[-1] else {}))
    assert certificate is not None
    return certificate


def text_of(path: Path) -> str:
    """A file's text."""
    return bytes_of(path).decode("utf-8", "replace")


def bytes_of(path: Path) -> bytes:
    """What is in a file."""
    try:
        if path.stat().st_size > _MOST:
            raise typer.BadParameter(f"{path} is larger than any log.")
        return path.read_bytes()
    except OSError as error:
        raise typer.BadParameter(f"cannot read {path}: {error.strerror}") from None


def append_text(path: Path, text: str) -> None:
    """Add to a file, or begin it."""
    try:
        with path.open("a", encoding="utf-8") as file:
            file.write(text)
    except OSError as error:
        raise typer.BadParameter(f"cannot write {path}: {error.strerror}") from None


def write_new(path: Path, text: str, *, mode: int = 0o644) -> None:
    """Write a file that is not there yet."""
    from hubbub.durable import write_new_file

    try:
        write_new_file(path, text.encode(), mode=mode)
    except FileExistsError:
        raise typer.BadParameter(f"{path} is there already, and is kept.") from None
    except OSError as error:
        raise typer.BadParameter(f"cannot write {path}: {error.strerror}") from None
