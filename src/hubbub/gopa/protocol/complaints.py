"""Complaints: who of two parties lied about what only the two of them share.

A complaint carries the Diffie-Hellman point of the two keys, with a proof that it is theirs. From it anybody computes
what the accused should have posted: the edge's commitment, or a share that opens its commitment. If the accused posted
just that, the complaint was false and the complainer is out; if not, the accused is. No answer is asked for, so an
accused party never has to open anything, however often it is accused; and since one of the two always leaves before the
cut, the one edge that a complaint opens hides nobody's number. A seal has keys of its own, so opening one shows the one
share that its two parties know anyway.
"""

from __future__ import annotations

from collections.abc import Sequence

from hubbub.gopa.crypto.ristretto import base
from hubbub.gopa.crypto.schnorr import prove_same, verify_same
from hubbub.gopa.crypto.transcript import Context
from hubbub.gopa.protocol.faults import Fault
from hubbub.gopa.protocol.masks import Share, edge_mask, unseal
from hubbub.gopa.protocol.message_bodies import Complaint
from hubbub.gopa.protocol.public_state import PublicState


def make_complaint(state: PublicState, me: int, accused: int, kind: str, secret: int, shared: bytes) -> Complaint:
    """A complaint of ``me``, whose key of this kind has this secret."""
    return Complaint(
        accused, kind, shared, prove_same(secret, _public_key(state, accused, kind), _key_context(state, me, kind))
    )


def judge_complaints(state: PublicState, complainer: int, complaints: Sequence[Complaint]) -> dict[int, Fault]:
    """Who is out after one party's complaints, and why; a false one ends the reading.

    Guarantee: a party that followed the protocol is never found at fault, whoever complains.
    Because: [CP92]: the point is the one of the two keys, and what follows from it is what an honest party posted.
    """
    faults: dict[int, Fault] = {}
    for complaint in complaints:
        if not _is_justified(state, complainer, complaint):
            return faults | {complainer: Fault.FALSE_COMPLAINT}
        faults[complaint.accused] = Fault.MASK_MISMATCH if complaint.kind == "mask" else Fault.BAD_SEAL
    return faults


def _is_justified(state: PublicState, me: int, complaint: Complaint) -> bool:
    accused, kind = complaint.accused, complaint.kind
    if accused not in state.shares or not _has_posted_for(state, me, accused, kind):
        return False
    keys = _public_key(state, me, kind), _public_key(state, accused, kind)
    if not verify_same(*keys, complaint.shared, complaint.proof, _key_context(state, me, kind)):
        return False
    if kind == "mask":
        return not edge_right(state, accused, me, complaint.shared)
    return valid_share(state, accused, me, complaint.shared) is None


def _has_posted_for(state: PublicState, me: int, accused: int, kind: str) -> bool:
    """Whether the accused posted anything of this kind for the complainer."""
    return (accused, me) in state.net.edges if kind == "mask" else state.net.place(accused, me) is not None


def edge_right(state: PublicState, poster: int, other: int, shared: bytes) -> bool:
    """Whether the commitment that ``poster`` posted for an edge is the one that its Diffie-Hellman point gives."""
    return edge_mask(state.view, poster, other, shared, state.width).point() == state.edge(poster, other)[0]


def valid_share(state: PublicState, dealer: int, holder: int, shared: bytes) -> Share | None:
    """The share that a dealer sealed for a holder, if it opens its two commitments."""
    share = dealt_share(state, dealer, holder, shared)
    place = state.net.place(dealer, holder)
    if share is None or place is None:
        return None
    shared_body = state.shares[dealer]
    right = base(share.seed) == shared_body.selves[place - 1] and base(share.key) == shared_body.keys[place - 1]
    return share if right else None


def dealt_share(state: PublicState, dealer: int, holder: int, shared: bytes) -> Share | None:
    """The share that a dealer sealed for a holder, right or wrong."""
    place = state.net.place(dealer, holder)
    if place is None:
        return None
    data = unseal(state.view, dealer, holder, shared, state.shares[dealer].sealed[place - 1])
    return None if data is None else Share.decoded(data)


def _public_key(state: PublicState, party: int, kind: str) -> bytes:
    join = state.joins[party]
    return join.mask_key if kind == "mask" else join.seal_key


def _key_context(state: PublicState, party: int, kind: str) -> Context:
    return Context(state.agreement.run, state.agreement.roster[party].name.encode(), f"complain {kind}")
