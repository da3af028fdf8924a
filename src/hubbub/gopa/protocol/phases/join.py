"""Join: a party shows its keys for this run, is bound to its bits, and commits to a nonce.

Nobody has shown a nonce yet, so nobody knows the coins that will sign its noise, nor the graph.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace

from hubbub.gopa.crypto.batch_verification import Provable
from hubbub.gopa.crypto.bit_proof import BitInputs, bind
from hubbub.gopa.crypto.framing import frame_parts
from hubbub.gopa.crypto.ristretto import IDENTITY, H, base, is_point, times_known
from hubbub.gopa.crypto.schnorr import SameClaim, prove_same
from hubbub.gopa.protocol.faults import Fault
from hubbub.gopa.protocol.party_secrets import Secrets, Speech, Work
from hubbub.gopa.protocol.phases.folding import (
    Messages,
    end_if_too_few,
    exclude_parties,
    failing_parties,
    parse_messages,
    proof_context,
)
from hubbub.gopa.protocol.public_state import PublicState
from hubbub.gopa.protocol.wire import Body, pack, read_fields, unpack

# ---------------------------------------------------------------- the message


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

    def packed(self) -> Body:
        parts = {"mask": self.mask_key, "seal": self.seal_key, "nonce": self.nonce, "bits": self.bits}
        return {"shown": pack(b"".join(self.shown)), **{name: pack(data) for name, data in parts.items()}}

    @classmethod
    def parse(cls, body: Body) -> Join:
        mask, seal, shown, nonce, bits = read_fields(body, "mask", "seal", "shown", "nonce", "bits")
        proofs = unpack(shown, 256)
        pair = (proofs[:128], proofs[128:])
        return cls(unpack(mask, 32), unpack(seal, 32), pair, unpack(nonce, 32), unpack(bits, 32))


def nonce_mark(run: bytes, party: int, nonce: bytes) -> bytes:
    """What is posted of a nonce before it is shown."""
    return hashlib.sha256(frame_parts(b"hubbub gopa nonce 1", run, party.to_bytes(4, "little"), nonce)).digest()


# ---------------------------------------------------------------- what a party says


def say_join(mine: Secrets, public: PublicState, work: Work | None) -> Speech:
    """Keys, bound bits, and a commitment to the nonce."""
    run = public.agreement.run
    keys = {kind: mine.key(run, kind) for kind in ("mask", "seal")}
    bound = bind_bits(mine, public)
    shown = [
        times_known(key, H) + prove_same(key, H, proof_context(public, mine.place, f"{kind} key"))
        for kind, key in keys.items()
    ]
    body = Join(
        mask_key=base(keys["mask"]),
        seal_key=base(keys["seal"]),
        shown=(shown[0], shown[1]),
        nonce=nonce_mark(run, mine.place, derive_nonce(mine, run)),
        bits=bound.point,
    )
    return body.packed(), Work(bound)


def bind_bits(mine: Secrets, public: PublicState) -> BitInputs:
    """The bits of the values and of the noise, fixed in one point."""
    return bind(public.agreement.shape, mine.values, mine.stream("bits", public.agreement.run).take(32))


def derive_nonce(mine: Secrets, run: bytes) -> bytes:
    """The nonce, which is shown in the next phase."""
    return mine.stream("nonce", run).take(32)


# ---------------------------------------------------------------- how everybody folds it


def fold_join(state: PublicState, messages: Messages) -> PublicState:
    """Keys, bound bits and commitments to nonces."""
    roster = range(len(state.agreement.roster))
    bodies, faults = parse_messages(messages, roster, lambda _, body: Join.parse(body))
    faults |= {party: Fault.BAD_POINT for party, join in bodies.items() if not _has_points(join)}
    claims = {p: _possession_claims(state, p, join) for p, join in bodies.items() if p not in faults}
    faults |= failing_parties(claims, Fault.BAD_KEY)
    joins = {party: join for party, join in bodies.items() if party not in faults}
    return end_if_too_few(replace(exclude_parties(state, messages, faults), joins=joins, inside=tuple(joins)))


def _has_points(join: Join) -> bool:
    return all(is_point(point) and point != IDENTITY for point in (join.mask_key, join.seal_key, join.bits))


def _possession_claims(state: PublicState, party: int, join: Join) -> list[Provable]:
    keys = {"mask key": join.mask_key, "seal key": join.seal_key}
    return [
        SameClaim(key, H, shown[:32], shown[32:], proof_context(state, party, kind))
        for (kind, key), shown in zip(keys.items(), join.shown, strict=True)
    ]
