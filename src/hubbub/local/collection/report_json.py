"""The JSON twin of a report: the same fields, with marks as hexadecimal digits and the payload as base64."""

from __future__ import annotations

import base64
import re
import struct
from typing import Any

from hubbub.local.collection.report_layout import FORMAT, HEAD, MARK, PROTOCOLS, REPORT, bad_report

_HEXADECIMAL = re.compile(rf"[0-9a-f]{{{2 * MARK}}}")
_FIELDS = {"hubbub", "protocol", "epsilon", "epoch", "collection", "digest", "id", "payload"}


def to_twin(data: bytes) -> dict[str, Any]:
    """The twin of a packed report."""
    _, form, code, epsilon, epoch, collection, digest, mark = HEAD.unpack_from(data)
    names = {number: name for name, number in PROTOCOLS.items()}
    return {
        "hubbub": f"report/{form}",
        "protocol": names[code],
        "epsilon": epsilon,
        "epoch": epoch,
        "collection": collection.hex(),
        "digest": digest.hex(),
        "id": mark.hex(),
        "payload": base64.b64encode(data[HEAD.size :]).decode(),
    }


def from_twin(document: object) -> bytes:
    """The binary form of a JSON twin, whichever collection it is for."""
    if not isinstance(document, dict) or document.keys() != _FIELDS:
        raise bad_report("malformed")
    form = str(document["hubbub"]).removeprefix("report/")
    if form != str(FORMAT):
        raise bad_report("version" if form.isdigit() else "malformed")
    try:
        return HEAD.pack(REPORT, FORMAT, *_read_numbers(document), *_read_marks(document)) + _read_payload(
            document["payload"]
        )
    except (struct.error, ValueError, TypeError) as error:
        raise bad_report("malformed") from error


def _read_numbers(document: dict[str, Any]) -> tuple[int, int, int]:
    """Code, epsilon and epoch."""
    epsilon, epoch, protocol = document["epsilon"], document["epoch"], document["protocol"]
    if type(epsilon) is not int or type(epoch) is not int or not isinstance(protocol, str):
        raise TypeError(protocol)
    if not (0 <= epsilon < 1 << 32 and 0 <= epoch < 1 << 32):
        raise ValueError(epoch)
    return PROTOCOLS.get(protocol, 0), epsilon, epoch


def _read_marks(document: dict[str, Any]) -> list[bytes]:
    """Collection, digest and id, 16 bytes each."""
    texts = [document[name] for name in ("collection", "digest", "id")]
    if not all(isinstance(text, str) and _HEXADECIMAL.fullmatch(text) for text in texts):
        raise ValueError(texts)
    return [bytes.fromhex(text) for text in texts]


def _read_payload(text: object) -> bytes:
    if not isinstance(text, str):
        raise TypeError(text)
    payload = base64.b64decode(text.encode("ascii"), validate=True)
    if base64.b64encode(payload).decode() != text:  # one text for one payload
        raise ValueError(text)
    return payload
