"""The layout of reports, format 1: what ``report_wire`` and ``report_json`` agree on."""

from __future__ import annotations

import struct

from hubbub.terms import BadReport

FORMAT = 1
HEADER = 64
MOST_REPORTS = 1 << 20  # in one batch
REASONS = ("malformed", "version", "collection", "protocol", "epsilon", "digest", "epoch", "domain", "replay")
PROTOCOLS = {
    "binary": 1,
    "sign": 2,
    "kary": 3,
    "unary": 4,
    "hashing": 5,
    "hadamard": 6,
    "onebit": 7,
    "subset": 8,
    "projective": 9,
    "rappor": 10,
    "cms": 11,
    "hcms": 12,
    "onebitmean": 13,
    "dbitflip": 14,
    "duchi": 15,
    "piecewise": 16,
    "hybrid": 17,
    "loloha": 18,
    "finite": 19,
    "laplace": 20,
    "gaussian": 21,
}
REPORT, BATCH = b"HBR", b"HBB"
MARK = 16  # bytes of an id, of a collection's id, and of as much of the digest as is sent
HEAD = struct.Struct("<3sBB3xII16s16s16s")
FRAME = struct.Struct("<3sBII")


def bad_report(reason: str) -> BadReport:
    """The refusal of a report, for one of the REASONS."""
    what, fix = _WORDS[reason]
    return BadReport(
        f"a report cannot be taken ({reason}): {what}.",
        why="A report made with other parameters, or damaged on its way, would bend the estimate in silence.",
        fix=fix,
        reason=reason,
    )


_AGAIN = "Fetch the collection's signed configuration again and make the report with it."
_WORDS = {
    "malformed": (
        "its bytes or fields are not those of a report",
        "Send what client.report() made, as it is, or many in one frame: report_wire.pack_batch(reports).",
    ),
    "version": (f"its format is not {FORMAT}", "Use a client of the same format."),
    "collection": ("it belongs to another collection", "Send it to the collector of its own collection."),
    "protocol": ("it was made by another randomizer", _AGAIN),
    "epsilon": ("it was made with another epsilon", _AGAIN),
    "digest": ("it was made with other parameters", _AGAIN),
    "epoch": ("the collection has no such epoch", "Give an epoch of the collection: they start at 0."),
    "domain": ("its payload is nothing that the randomizer can send", _AGAIN),
    "replay": ("its id came before with another content", "A report is sent again as it is, never made again."),
}
