"""Reveal: each party of the cut posts its masked sum, which must open what it committed to.

Value, noise, self mask and the masks of all edges within the cut are one number per coordinate; its commitment is the
sum of theirs. All reveals are checked in one sum of points.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from hubbub.gopa.crypto.batch_verification import verify_many
from hubbub.gopa.crypto.point_equations import Equation, all_hold, random_weight
from hubbub.gopa.crypto.ristretto import ORDER, decode_scalar, encode_scalar
from hubbub.gopa.protocol.faults import Fault, Refused
from hubbub.gopa.protocol.masks import Opening, OpeningClaim, sum_openings
from hubbub.gopa.protocol.party_secrets import PartyLeaves, Secrets, Speech, Work
from hubbub.gopa.protocol.phases.cut import require_crowd
from hubbub.gopa.protocol.phases.folding import Messages, exclude_parties, parse_messages
from hubbub.gopa.protocol.phases.share import redo_work
from hubbub.gopa.protocol.public_state import PublicState, end_run
from hubbub.gopa.protocol.wire import Body, pack, read_fields, unpack

# ---------------------------------------------------------------- the message


def packed_reveal(opening: Opening) -> Body:
    """The body of a reveal."""
    return {"masked": pack(b"".join(map(encode_scalar, (*opening.values, opening.blinder))))}


def parse_reveal(body: Body, width: int) -> Opening:
    """The masked sum and its blinder; refused if a number is not in its one spelling."""
    data = unpack(read_fields(body, "masked")[0], 32 * (width + 1))
    numbers = [decode_scalar(data[start : start + 32]) for start in range(0, len(data), 32)]
    scalars = [number for number in numbers if number is not None]
    if len(scalars) < len(numbers):
        raise Refused(Fault.MALFORMED)
    return Opening(tuple(scalars[:-1]), scalars[-1])


# ---------------------------------------------------------------- what a party says


def say_reveal(mine: Secrets, public: PublicState, work: Work | None) -> Speech:
    """The masked sum. After it there is no way back, so everything is checked again before it."""
    require_crowd(mine, public, public.members)
    require_signatures(public)
    current = redo_work(mine, public, work)
    edges = [mask for other, mask in current.edges.items() if other in public.members]
    return packed_reveal(sum_openings([current.input, current.own, *edges], public.width)), current


def require_signatures(public: PublicState) -> None:
    """A party's own check that a quorum has signed in the phase before."""
    if len(public.signers) < public.agreement.plan.quorum:
        raise PartyLeaves(Fault.NO_QUORUM)


# ---------------------------------------------------------------- how everybody folds it


def fold_reveal(state: PublicState, messages: Messages) -> PublicState:
    """Masked sums that open what their authors committed to; of their authors, all whose crowd is still there."""
    openings, faults = parse_messages(messages, state.inside, lambda _, body: parse_reveal(body, state.width))
    wrong = _bad_reveals(state, openings)
    faults |= dict.fromkeys(wrong, Fault.BAD_OPENING)
    reveals = {party: opening for party, opening in openings.items() if party not in wrong}
    crowd = state.net.core(reveals, state.threshold)
    left = replace(exclude_parties(state, messages, faults), reveals=reveals, revealed=crowd)
    if len(crowd) < state.agreement.plan.survivors:
        return end_run(left, Fault.TOO_FEW)
    return left if left.achieved.enough else end_run(left, Fault.NOT_PRIVATE)


def _bad_reveals(state: PublicState, openings: Mapping[int, Opening]) -> set[int]:
    """The parties whose reveal does not open: vector + self mask + the edges within the cut.

    Each edge is in two reveals, with two signs. One sum has it once; only if that is not the identity are the reveals
    looked at one by one.
    """
    if all_hold([_joint_equation(state, openings)]):
        return set()
    verdicts = verify_many([_reveal_claim(state, party, opening) for party, opening in openings.items()])
    return {party for party, holds in zip(openings, verdicts, strict=True) if not holds}


def _joint_equation(state: PublicState, openings: Mapping[int, Opening]) -> Equation:
    by = {party: random_weight() for party in openings}
    scalars, points = [], []
    for party in state.inside:
        shared = state.shares[party]
        if party in by:
            scalars += [by[party]] * 2
            points += [shared.input.vector, shared.own]
        for other, point in zip(state.net.posts[party], shared.edges, strict=True):
            if other in state.members:
                scalars.append(by.get(party, 0) - by.get(other, 0))
                points.append(point)
    sums = [-sum(by[p] * opening.values[c] for p, opening in openings.items()) % ORDER for c in range(state.width)]
    return Equation(
        on_g=sums[0],
        on_h=-sum(by[party] * opening.blinder for party, opening in openings.items()) % ORDER,
        coordinates=[0, *sums[1:]] if state.width > 1 else (),
        scalars=scalars,
        points=points,
    )


def _reveal_claim(state: PublicState, party: int, opening: Opening) -> OpeningClaim:
    """That a reveal opens its commitments."""
    shared = state.shares[party]
    edges = [state.edge(party, other) for other in state.net.around[party] if other in state.members]
    points, signs = [point for point, _ in edges], [sign for _, sign in edges]
    return OpeningClaim(opening, [shared.input.vector, shared.own, *points], [1, 1, *signs])
