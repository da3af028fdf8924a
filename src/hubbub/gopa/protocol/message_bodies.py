"""What the messages of each phase say, and their one spelling."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from hubbub.gopa.crypto.bit_proof import BitStatement
from hubbub.gopa.crypto.ristretto import decode_scalar, encode_scalar
from hubbub.gopa.protocol.agreement import Agreement
from hubbub.gopa.protocol.faults import Fault, Refused
from hubbub.gopa.protocol.masks import SEALED, Opening
from hubbub.gopa.protocol.wire import pack, unpack

Json = Mapping[str, Any]
MOST_PROOF = 1 << 15
KINDS = ("mask", "seal")


def _read_fields(body: Json, *names: str) -> list[Any]:
    if body.keys() != set(names):
        raise Refused(Fault.MALFORMED)
    return [body[name] for name in names]


def _parse_points(text: object, count: int) -> tuple[bytes, ...]:
    data = unpack(text, 32 * count)
    return tuple(data[start : start + 32] for start in range(0, len(data), 32))


def _parse_proof(text: object) -> bytes:
    data = unpack(text)
    if len(data) > MOST_PROOF:
        raise Refused(Fault.OVERSIZED)
    return data


def _parse_opening(text: object, width: int) -> Opening:
    opening = Opening.decoded(unpack(text, 32 * (width + 1)))
    if opening is None:
        raise Refused(Fault.MALFORMED)
    return opening


@dataclass(frozen=True, slots=True)
class Join:
    """Run keys with proofs that their secrets are known, a commitment to the nonce, and the bound bits.

    ``shown`` has for each key k*G the point k*H and the proof that both have one k.
    """

    mask_key: bytes
    seal_key: bytes
    shown: tuple[bytes, bytes]
    nonce: bytes
    bits: bytes

    def packed(self) -> Json:
        parts = {"mask": self.mask_key, "seal": self.seal_key, "nonce": self.nonce, "bits": self.bits}
        return {"shown": pack(b"".join(self.shown)), **{name: pack(data) for name, data in parts.items()}}

    @classmethod
    def parse(cls, body: Json) -> Join:
        mask, seal, shown, nonce, bits = _read_fields(body, "mask", "seal", "shown", "nonce", "bits")
        proofs = unpack(shown, 256)
        pair = (proofs[:128], proofs[128:])
        return cls(unpack(mask, 32), unpack(seal, 32), pair, unpack(nonce, 32), unpack(bits, 32))


def packed_nonce(nonce: bytes) -> Json:
    """The body of a nonce's message."""
    return {"nonce": pack(nonce)}


def parse_nonce(body: Json) -> bytes:
    """The nonce."""
    return unpack(_read_fields(body, "nonce")[0], 32)


@dataclass(frozen=True, slots=True)
class Shared:
    """Commitments to value and noise with their proofs, to the edge masks and the self mask, and the sealed shares.

    ``vector`` is one commitment to all coordinates of value plus noise, and ``linked`` proves that it is; with one
    coordinate it is their sum and nothing is to be proved. ``ball`` and ``extra`` are what the quantity asks for
    besides. ``own`` commits to the self mask, ``seed`` is the point of its seed; ``selves`` and ``keys`` are the points
    of the shares of that seed and of the mask key.
    """

    statement: BitStatement
    proof: bytes
    vector: bytes
    linked: bytes
    ball: bytes
    extra: tuple[bytes, ...]
    own: bytes
    seed: bytes
    edges: tuple[bytes, ...]
    selves: tuple[bytes, ...]
    keys: tuple[bytes, ...]
    sealed: tuple[bytes, ...]

    def packed(self) -> Json:
        return {
            "statement": pack(b"".join(self.statement.points)),
            "proof": pack(self.proof),
            "vector": pack(self.vector),
            "linked": pack(self.linked),
            "ball": pack(self.ball),
            "extra": [pack(proof) for proof in self.extra],
            "own": pack(self.own),
            "seed": pack(self.seed),
            "edges": pack(b"".join(self.edges)),
            "selves": pack(b"".join(self.selves)),
            "keys": pack(b"".join(self.keys)),
            "sealed": pack(b"".join(self.sealed)),
        }

    @classmethod
    def parse(cls, body: Json, agreement: Agreement, edges: int, holders: int) -> Shared:
        """What a share message says, for a party with so many edges to post and so many holders."""
        names = (
            "statement",
            "proof",
            "vector",
            "linked",
            "ball",
            "extra",
            "own",
            "seed",
            "edges",
            "selves",
            "keys",
            "sealed",
        )
        texts = dict(zip(names, _read_fields(body, *names), strict=True))
        width = agreement.quantity.coordinates
        points = _parse_points(texts["statement"], 2 * width)
        sealed = unpack(texts["sealed"], SEALED * holders)
        if not isinstance(texts["extra"], list) or len(texts["extra"]) != extra_proof_count(agreement):
            raise Refused(Fault.MALFORMED)
        return cls(
            statement=BitStatement(points[:width], points[width:]),
            proof=_parse_proof(texts["proof"]),
            vector=unpack(texts["vector"], 32),
            linked=_parse_proof(texts["linked"]),
            ball=_parse_proof(texts["ball"]),
            extra=tuple(unpack(proof, 64) for proof in texts["extra"]),
            own=unpack(texts["own"], 32),
            seed=unpack(texts["seed"], 32),
            edges=_parse_points(texts["edges"], edges),
            selves=_parse_points(texts["selves"], holders),
            keys=_parse_points(texts["keys"], holders),
            sealed=tuple(sealed[start : start + SEALED] for start in range(0, len(sealed), SEALED)),
        )


def extra_proof_count(agreement: Agreement) -> int:
    """How many proofs of a zero the quantity asks for besides: one-hot, and one per coordinate for earlier inputs."""
    return agreement.quantity.one_hot + (agreement.quantity.coordinates if agreement.previous else 0)


@dataclass(frozen=True, slots=True)
class Complaint:
    """That ``accused`` posted a wrong edge commitment (kind mask) or a wrong share (kind seal).

    ``shared`` is the Diffie-Hellman point of the two keys of that kind, ``proof`` that it is: with it everybody can
    compute what the accused should have posted. It opens this one edge, or this one seal, and nothing else.
    """

    accused: int
    kind: str
    shared: bytes
    proof: bytes

    @classmethod
    def parse(cls, item: object) -> Complaint:
        if not isinstance(item, list) or len(item) != 4 or type(item[0]) is not int or item[1] not in KINDS:
            raise Refused(Fault.MALFORMED)
        return cls(item[0], item[1], unpack(item[2], 32), unpack(item[3], 96))


def packed_complaints(complaints: tuple[Complaint, ...]) -> Json:
    """The body of a complaint phase's message; none means that all is well."""
    return {"complaints": [[c.accused, c.kind, pack(c.shared), pack(c.proof)] for c in complaints]}


def parse_complaints(body: Json) -> tuple[Complaint, ...]:
    """The complaints of one party: each about another edge or seal."""
    (items,) = _read_fields(body, "complaints")
    if not isinstance(items, list):
        raise Refused(Fault.MALFORMED)
    complaints = tuple(map(Complaint.parse, items))
    if len({(one.accused, one.kind) for one in complaints}) < len(complaints):
        raise Refused(Fault.MALFORMED)
    return complaints


def packed_members(digest: bytes) -> Json:
    """The body of a cut's or a confirmation's message."""
    return {"members": pack(digest)}


def parse_members(body: Json) -> bytes:
    """The digest of the set that its author signs."""
    return unpack(_read_fields(body, "members")[0], 32)


def packed_reveal(opening: Opening) -> Json:
    """The body of a reveal."""
    return {"masked": pack(opening.encoded())}


def parse_reveal(body: Json, width: int) -> Opening:
    """The masked sum and its blinder."""
    return _parse_opening(_read_fields(body, "masked")[0], width)


@dataclass(frozen=True, slots=True)
class Repair:
    """The seed of the author's own self mask (or none), and its shares of others' seeds and of others' mask keys."""

    own: int | None
    selves: Mapping[int, int]
    keys: Mapping[int, int]

    def packed(self) -> Json:
        return {
            "own": "" if self.own is None else pack(encode_scalar(self.own)),
            "selves": [[dealer, pack(encode_scalar(share))] for dealer, share in sorted(self.selves.items())],
            "keys": [[dealer, pack(encode_scalar(share))] for dealer, share in sorted(self.keys.items())],
        }

    @classmethod
    def parse(cls, body: Json) -> Repair:
        own, selves, keys = _read_fields(body, "own", "selves", "keys")
        return cls(
            own=None if own == "" else _parse_scalar(own),
            selves={dealer: _parse_scalar(text) for dealer, text in _parse_pairs(selves)},
            keys={dealer: _parse_scalar(text) for dealer, text in _parse_pairs(keys)},
        )


def _parse_pairs(items: object) -> list[tuple[int, object]]:
    """(dealer, text) in rising order, each dealer once."""
    if not isinstance(items, list) or not all(isinstance(i, list) and len(i) == 2 and type(i[0]) is int for i in items):
        raise Refused(Fault.MALFORMED)
    dealers = [item[0] for item in items]
    if dealers != sorted(set(dealers)):
        raise Refused(Fault.MALFORMED)
    return [(item[0], item[1]) for item in items]


def _parse_scalar(text: object) -> int:
    value = decode_scalar(unpack(text, 32))
    if value is None:
        raise Refused(Fault.MALFORMED)
    return value
