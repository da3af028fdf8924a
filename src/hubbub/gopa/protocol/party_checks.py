"""What a party checks of the others, and what it says then: complaints, signatures, its reveal, and repairs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from operator import mul

from hubbub.gopa.crypto.multi_scalar import combine
from hubbub.gopa.crypto.ristretto import ORDER
from hubbub.gopa.protocol import complaints as blame
from hubbub.gopa.protocol.faults import Fault
from hubbub.gopa.protocol.masks import Opening, Share, shared_point, sum_openings
from hubbub.gopa.protocol.message_bodies import Complaint, Repair, packed_complaints, packed_members, packed_reveal
from hubbub.gopa.protocol.party_messages import (
    Body,
    PartyLeaves,
    Secrets,
    Work,
    redo_work,
    require_inside,
    self_mask_seed,
)
from hubbub.gopa.protocol.public_state import FIRST, PublicState
from hubbub.terms import OutOfRange

# ---------------------------------------------------------------- complain


def say_complaints(mine: Secrets, public: PublicState, work: Work | None) -> tuple[Body | None, Work | None]:
    """Everything that others posted for this party is checked; most often there is nothing to say, and that is said."""
    require_inside(mine, public)
    current = redo_work(mine, public, work)
    seal_key = mine.key(public.agreement.run, "seal")
    dealers = [dealer for dealer, _ in public.net.held[mine.place] if dealer in public.shares]
    points = {dealer: shared_point(seal_key, public.joins[dealer].seal_key) for dealer in dealers}
    shares = {dealer: blame.dealt_share(public, dealer, mine.place, point) for dealer, point in points.items()}
    opened = {dealer: one for dealer, one in shares.items() if one is not None}
    known = replace(current, shares=opened)
    if len(opened) == len(dealers) and _all_right(mine, public, known):
        return packed_complaints(()), known
    complaints = _find_complaints(mine, public, known, points)
    return packed_complaints(tuple(complaints)), known


def _edge_posters(mine: Secrets, public: PublicState) -> list[int]:
    """The neighbours that posted the commitment of the edge with this party."""
    me = mine.place
    return [one for one in public.net.around[me] if one in public.shares and (one, me) in public.net.edges]


def _all_right(mine: Secrets, public: PublicState, work: Work) -> bool:
    """One sum for all edges and shares; its weights are this party's secret. Only public points meet a fast sum."""
    posters, held = _edge_posters(mine, public), public.net.held[mine.place]
    points = [public.edge(one, mine.place)[0] for one in posters]
    numbers: list[int] = []
    for dealer, place in held:
        if dealer in work.shares:
            points += [public.shares[dealer].selves[place - 1], public.shares[dealer].keys[place - 1]]
            numbers += [work.shares[dealer].seed, work.shares[dealer].key]
    drawn = mine.stream("weights", public.closes[2].hash).take(16 * len(points))
    weights = [int.from_bytes(drawn[at : at + 16], "little") for at in range(0, len(drawn), 16)]
    edges = sum_openings(
        [(-work.edges[one]).times(by) for one, by in zip(posters, weights, strict=False)], public.width
    )
    first = sum(map(mul, weights[len(posters) :], numbers)) + edges.values[0]
    wanted = Opening((first % ORDER, *edges.values[1:]), edges.blinder)
    try:
        return combine(weights, points) == wanted.point()
    except OutOfRange:
        return False


def _find_complaints(mine: Secrets, public: PublicState, work: Work, points: Mapping[int, bytes]) -> list[Complaint]:
    """One complaint for each edge and each share that is not what it should be."""
    me, run = mine.place, public.agreement.run
    complaints = []
    mask_key, seal_key = mine.key(run, "mask"), mine.key(run, "seal")
    for other in _edge_posters(mine, public):
        if (-work.edges[other]).point() != public.edge(other, me)[0]:
            shared = shared_point(mask_key, public.joins[other].mask_key)
            complaints.append(blame.make_complaint(public, me, other, "mask", mask_key, shared))
    for dealer, shared in points.items():
        if blame.valid_share(public, dealer, me, shared) is None:
            complaints.append(blame.make_complaint(public, me, dealer, "seal", seal_key, shared))
    return complaints


# ---------------------------------------------------------------- cut, reveal, confirm


def sign_cut(mine: Secrets, public: PublicState, work: Work | None) -> tuple[Body | None, Work | None]:
    """The signature under the set that is cut: one per run, ever."""
    _require_crowd(mine, public, public.members)
    return packed_members(public.mark), work


def say_reveal(mine: Secrets, public: PublicState, work: Work | None) -> tuple[Body | None, Work | None]:
    """The masked sum. After it there is no way back, so everything is checked again before it."""
    _require_crowd(mine, public, public.members)
    _require_signatures(public)
    current = redo_work(mine, public, work)
    edges = [mask for other, mask in current.edges.items() if other in public.members]
    return packed_reveal(sum_openings([current.input, current.own, *edges], public.width)), current


def sign_confirmation(mine: Secrets, public: PublicState, work: Work | None) -> tuple[Body | None, Work | None]:
    """The signature under the set of those who revealed: one per run, ever."""
    _require_crowd(mine, public, public.counted)
    return packed_members(public.mark), work


def _require_crowd(mine: Secrets, public: PublicState, members: frozenset[int]) -> None:
    """A party's own check that it has a crowd to hide in: size, privacy, and so many own picks that one is honest.

    Fewer picks than the threshold are corrupted, but for the chance that the plan counts in delta. So whomever a lying
    board leaves out, it cannot leave this party alone.
    """
    plan = public.agreement.plan
    if mine.place not in members:
        raise PartyLeaves(Fault.NOT_INVITED)
    if len(members) < plan.survivors:
        raise PartyLeaves(Fault.TOO_FEW)
    if not public.achieved.enough:
        raise PartyLeaves(Fault.NOT_PRIVATE)
    if sum(pick in members for pick in public.net.picks[mine.place]) < public.threshold:
        raise PartyLeaves(Fault.CROWD_TOO_THIN)


def _require_signatures(public: PublicState) -> None:
    if len(public.signers) < public.agreement.plan.quorum:
        raise PartyLeaves(Fault.NO_QUORUM)


# ---------------------------------------------------------------- repair


def say_repair(mine: Secrets, public: PublicState, work: Work | None) -> tuple[Body | None, Work | None]:
    """The own self mask, and shares of those who are gone: of each EITHER the self mask OR the mask key."""
    me = mine.place
    _require_crowd(mine, public, public.opened)
    if public.phase == FIRST:
        _require_signatures(public)
    current = redo_work(mine, public, work)
    may = public.releasable
    held = _held_shares(mine, public, current, may.seeds | may.keys)
    body = Repair(
        own=self_mask_seed(mine, public) if me in public.counted and me not in public.mended.seeds else None,
        selves={dealer: one.seed for dealer, one in held.items() if dealer in may.seeds},
        keys={dealer: one.key for dealer, one in held.items() if dealer in may.keys},
    )
    nothing = body.own is None and not body.selves and not body.keys
    return (None if nothing else body.packed()), current


def _held_shares(mine: Secrets, public: PublicState, work: Work, dealers: frozenset[int]) -> dict[int, Share]:
    """The shares that this party holds of these dealers."""
    shares: dict[int, Share] = {}
    for dealer in sorted(dealers):
        if dealer in work.shares:
            shares[dealer] = work.shares[dealer]
        elif public.net.place(dealer, mine.place) is not None:
            shared = shared_point(mine.key(public.agreement.run, "seal"), public.joins[dealer].seal_key)
            if (one := blame.valid_share(public, dealer, mine.place, shared)) is not None:
                shares[dealer] = one
    return shares
