"""Whether reveals open what was committed to, all of them in one sum of points."""

from __future__ import annotations

from collections.abc import Mapping

from hubbub.gopa.crypto.batch_verification import verify_many
from hubbub.gopa.crypto.point_equations import Equation, all_hold, random_weight
from hubbub.gopa.crypto.ristretto import ORDER
from hubbub.gopa.protocol.masks import Opening, OpeningClaim
from hubbub.gopa.protocol.public_state import PublicState


def bad_reveals(state: PublicState, openings: Mapping[int, Opening]) -> set[int]:
    """The parties whose reveal does not open: vector + self mask + the edges within the cut.

    Each edge is in two reveals, with two signs. One sum has it once; only if that is not the identity are the reveals
    looked at one by one.
    """
    if all_hold([_joint_equation(state, openings)]):
        return set()
    verdicts = verify_many([reveal_claim(state, party, opening) for party, opening in openings.items()])
    return {party for party, holds in zip(openings, verdicts, strict=True) if not holds}


def reveal_claim(state: PublicState, party: int, opening: Opening) -> OpeningClaim:
    """That a reveal opens its commitments."""
    shared = state.shares[party]
    edges = [state.edge(party, other) for other in state.net.around[party] if other in state.members]
    points, signs = [point for point, _ in edges], [sign for _, sign in edges]
    return OpeningClaim(opening, [shared.vector, shared.own, *points], [1, 1, *signs])


def _joint_equation(state: PublicState, openings: Mapping[int, Opening]) -> Equation:
    by = {party: random_weight() for party in openings}
    scalars, points = [], []
    for party in state.inside:
        shared = state.shares[party]
        if party in by:
            scalars += [by[party]] * 2
            points += [shared.vector, shared.own]
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
