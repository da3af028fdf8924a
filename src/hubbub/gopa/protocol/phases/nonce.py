"""Nonce: everybody shows the nonce that it committed to; from them follow the graph and the coins.

Each party picks its neighbours by its own nonce. Whoever withholds one loses its own picks and moves nobody else's.
"""

from __future__ import annotations

import hashlib
from dataclasses import replace

from hubbub.gopa.crypto.framing import frame_parts
from hubbub.gopa.protocol.faults import Fault
from hubbub.gopa.protocol.party_secrets import PartyLeaves, Secrets, Speech, Work
from hubbub.gopa.protocol.phases.folding import Messages, end_if_too_few, exclude_parties, parse_messages
from hubbub.gopa.protocol.phases.join import derive_nonce, nonce_mark
from hubbub.gopa.protocol.public_state import PublicState
from hubbub.gopa.protocol.topology import Net, pick_parties
from hubbub.gopa.protocol.wire import Body, pack, read_fields, unpack


def packed_nonce(nonce: bytes) -> Body:
    """The body of a nonce's message."""
    return {"nonce": pack(nonce)}


def parse_nonce(body: Body) -> bytes:
    """The nonce."""
    return unpack(read_fields(body, "nonce")[0], 32)


def say_nonce(mine: Secrets, public: PublicState, work: Work | None) -> Speech:
    """The nonce, now that everybody is bound."""
    require_inside(mine, public)
    return packed_nonce(derive_nonce(mine, public.agreement.run)), work


def require_inside(mine: Secrets, public: PublicState) -> None:
    """A party that is out has nothing more to say."""
    if mine.place not in public.members:
        raise PartyLeaves(Fault.NOT_INVITED)


def fold_nonce(state: PublicState, messages: Messages) -> PublicState:
    """The nonces, and with them the graph and the coins."""
    bodies, faults = parse_messages(messages, state.inside, lambda _, body: parse_nonce(body))
    run = state.agreement.run
    for party in state.inside:
        if faults.get(party) is Fault.SILENT:
            faults[party] = Fault.WITHHELD_NONCE
        elif party in bodies and nonce_mark(run, party, bodies[party]) != state.joins[party].nonce:
            faults[party] = Fault.BAD_NONCE
    nonces = {party: nonce for party, nonce in bodies.items() if party not in faults}
    k, hash_then = state.agreement.plan.degree, state.closes[0].hash
    chosen = {p: pick_parties(frame_parts(hash_then, nonce), p, state.inside, k) for p, nonce in nonces.items()}
    seed = hashlib.sha256(
        frame_parts(run, hash_then, *(p.to_bytes(4, "little") + n for p, n in nonces.items()))
    ).digest()
    left = replace(
        exclude_parties(state, messages, faults), net=Net(state.inside, chosen), seed=seed, inside=tuple(nonces)
    )
    return end_if_too_few(left)
