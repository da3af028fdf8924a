"""Share: commitments with their proofs, the masks of all edges, and a sealed share for each holder.

Value, noise and masks are fixed now. What a party leaves behind if it goes, its mask key and the seed of its self mask,
lies in shares with the parties that it picked.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from hubbub.gopa.crypto.batch_verification import Provable
from hubbub.gopa.crypto.bit_proof import Proved
from hubbub.gopa.crypto.ristretto import IDENTITY, ORDER, base, is_point
from hubbub.gopa.crypto.shamir import DegreeClaim, deal_shares, dual_word
from hubbub.gopa.protocol.agreement import Agreement
from hubbub.gopa.protocol.faults import Fault
from hubbub.gopa.protocol.masks import Opening, edge_mask, self_mask, shared_point
from hubbub.gopa.protocol.party_secrets import PartyLeaves, Secrets, Speech, Work
from hubbub.gopa.protocol.phases.folding import (
    Messages,
    end_if_too_few,
    exclude_parties,
    failing_parties,
    parse_messages,
)
from hubbub.gopa.protocol.phases.input_proofs import (
    FIELDS,
    ProvedInput,
    input_claims,
    parse_points,
    prove_inputs,
    state_input,
    vector_fits,
)
from hubbub.gopa.protocol.phases.join import bind_bits
from hubbub.gopa.protocol.phases.nonce import require_inside
from hubbub.gopa.protocol.public_state import PublicState
from hubbub.gopa.protocol.sealed_shares import SEALED, Share, seal, unseal
from hubbub.gopa.protocol.wire import Body, pack, read_fields, unpack

_OWN_FIELDS = ("own", "seed", "edges", "selves", "keys", "sealed")

# ---------------------------------------------------------------- the message


@dataclass(frozen=True, slots=True)
class Shared:
    """The proved input, commitments to the self mask and the edge masks, and the sealed shares.

    ``own`` commits to the self mask, ``seed`` is the point of its seed; ``selves`` and ``keys`` are the points of the
    shares of that seed and of the mask key.
    """

    input: ProvedInput
    own: bytes
    seed: bytes
    edges: tuple[bytes, ...]
    selves: tuple[bytes, ...]
    keys: tuple[bytes, ...]
    sealed: tuple[bytes, ...]

    def packed(self) -> Body:
        return {
            **self.input.packed(),
            "own": pack(self.own),
            "seed": pack(self.seed),
            "edges": pack(b"".join(self.edges)),
            "selves": pack(b"".join(self.selves)),
            "keys": pack(b"".join(self.keys)),
            "sealed": pack(b"".join(self.sealed)),
        }

    @classmethod
    def parse(cls, body: Body, agreement: Agreement, edges: int, holders: int) -> Shared:
        """What a share message says, for a party with so many edges to post and so many holders."""
        names = (*FIELDS, *_OWN_FIELDS)
        texts = dict(zip(names, read_fields(body, *names), strict=True))
        sealed = unpack(texts["sealed"], SEALED * holders)
        return cls(
            input=ProvedInput.parse(texts, agreement),
            own=unpack(texts["own"], 32),
            seed=unpack(texts["seed"], 32),
            edges=parse_points(texts["edges"], edges),
            selves=parse_points(texts["selves"], holders),
            keys=parse_points(texts["keys"], holders),
            sealed=tuple(sealed[start : start + SEALED] for start in range(0, len(sealed), SEALED)),
        )


# ---------------------------------------------------------------- what a party says


def say_shares(mine: Secrets, public: PublicState, work: Work | None) -> Speech:
    """Commitments, proofs, and a sealed share for each holder."""
    require_inside(mine, public)
    shown = prove_inputs(mine, public, work)
    current = _work_out(mine, public, shown, work)
    dealt = _deal_shares(mine, public)
    body = Shared(
        input=state_input(mine, public, shown, current.input),
        own=current.own.point(),
        seed=base(self_mask_seed(mine, public)),
        edges=tuple(current.edges[other].point() for other in public.net.posts[mine.place]),
        selves=tuple(base(one.seed) for one in dealt),
        keys=tuple(base(one.key) for one in dealt),
        sealed=_seal_shares(mine, public, dealt),
    )
    return body.packed(), current


def redo_work(mine: Secrets, public: PublicState, work: Work | None) -> Work:
    """What was worked out in the share phase; after a crash it is worked out once more, to the same numbers."""
    return work if work and work.edges else _work_out(mine, public, prove_inputs(mine, public, work), work)


def _work_out(mine: Secrets, public: PublicState, shown: Proved, work: Work | None) -> Work:
    """The numbers behind a party's commitments."""
    run, opened = public.agreement.run, shown.openings
    key, seed = mine.key(run, "mask"), self_mask_seed(mine, public)
    values = tuple(value + noise for value, noise in zip(opened.values, opened.noises, strict=True))
    blinder = (opened.value_blinders[0] + opened.noise_blinders[0]) % ORDER
    if public.width > 1:
        blinder = mine.stream("vector", run, public.view.hash).scalar()
    return Work(
        bound=work.bound if work else bind_bits(mine, public),
        input=Opening(values, blinder),
        own=self_mask(public.view, mine.place, seed, public.width),
        edges={other: edge_opening(public, mine.place, other, key) for other in public.net.around[mine.place]},
    )


def self_mask_seed(mine: Secrets, public: PublicState) -> int:
    """The seed of the self mask."""
    return mine.stream("seed", public.agreement.run, public.view.hash).scalar()


def edge_opening(state: PublicState, one: int, other: int, key: int) -> Opening:
    """What ``one`` adds for an edge, from its mask key."""
    shared = shared_point(key, state.joins[other].mask_key)
    return edge_mask(state.view, one, other, shared, state.width)


# ---------------------------------------------------------------- shares, sealed and unsealed


def _deal_shares(mine: Secrets, public: PublicState) -> list[Share]:
    """A share of the seed and of the mask key for each holder."""
    count, threshold = len(public.net.picks[mine.place]), public.threshold
    if threshold > count:
        raise PartyLeaves(Fault.TOO_FEW)
    stream = mine.stream("shares", public.agreement.run, public.view.hash)
    secrets = self_mask_seed(mine, public), mine.key(public.agreement.run, "mask")
    seeds, keys = (deal_shares(secret, count, threshold, stream) for secret in secrets)
    return [Share(seed, key) for seed, key in zip(seeds, keys, strict=True)]


def _seal_shares(mine: Secrets, public: PublicState, dealt: Sequence[Share]) -> tuple[bytes, ...]:
    key, view, me = mine.key(public.agreement.run, "seal"), public.view, mine.place
    return tuple(
        seal(view, me, holder, shared_point(key, public.joins[holder].seal_key), one)
        for holder, one in zip(public.net.picks[me], dealt, strict=True)
    )


def valid_share(state: PublicState, dealer: int, holder: int, shared: bytes) -> Share | None:
    """The share that a dealer sealed for a holder, if there is one and it opens its two commitments."""
    place = state.net.place(dealer, holder)
    if place is None:
        return None
    dealt = state.shares[dealer]
    share = unseal(state.view, dealer, holder, shared, dealt.sealed[place - 1])
    if share is None:
        return None
    right = base(share.seed) == dealt.selves[place - 1] and base(share.key) == dealt.keys[place - 1]
    return share if right else None


# ---------------------------------------------------------------- how everybody folds it


def fold_shares(state: PublicState, messages: Messages) -> PublicState:
    """Commitments, proofs and shares: all proofs of all parties in a few long sums."""
    bodies, faults = parse_messages(messages, state.inside, lambda party, body: _parse_shared(state, party, body))
    for party, shared in bodies.items():
        points = (shared.own, shared.input.vector, *shared.edges, *shared.input.statement.points)
        if IDENTITY in points or not is_point(shared.own):
            faults[party] = Fault.BAD_POINT
        elif not vector_fits(shared.input):
            faults[party] = Fault.BAD_PROOF
    sound = {party: shared for party, shared in bodies.items() if party not in faults}
    faults |= failing_parties(_degree_claims(state, sound), Fault.BAD_SHARES)
    faults |= failing_parties({p: input_claims(state, p, one.input) for p, one in sound.items()}, Fault.BAD_PROOF)
    shares = {party: shared for party, shared in sound.items() if party not in faults}
    return end_if_too_few(replace(exclude_parties(state, messages, faults), shares=shares, inside=tuple(shares)))


def _parse_shared(state: PublicState, party: int, body: Body) -> Shared:
    return Shared.parse(body, state.agreement, len(state.net.posts[party]), len(state.net.picks[party]))


def _degree_claims(state: PublicState, bodies: Mapping[int, Shared]) -> dict[int, list[Provable]]:
    """For each party that its seed and its key were dealt: one word for all, drawn now that all points are there."""
    word = dual_word(state.holders, state.threshold)
    return {
        party: [
            DegreeClaim((shared.seed, *shared.selves), word),
            DegreeClaim((state.joins[party].mask_key, *shared.keys), word),
        ]
        for party, shared in bodies.items()
    }
