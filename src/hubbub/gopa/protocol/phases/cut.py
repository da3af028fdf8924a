"""Cut: a quorum signs the set of all whom the complaints left in; what they reveal is masked within it.

A party signs one such set per run, ever, so that no two can have a quorum. ``confirm`` does the same once more, for the
set of those who revealed.
"""

from __future__ import annotations

from dataclasses import replace

from hubbub.gopa.protocol.faults import Fault
from hubbub.gopa.protocol.party_secrets import PartyLeaves, Secrets, Speech, Work
from hubbub.gopa.protocol.phases.folding import Messages, exclude_parties, parse_messages
from hubbub.gopa.protocol.public_state import PublicState, end_run
from hubbub.gopa.protocol.wire import Body, pack, read_fields, unpack

# ---------------------------------------------------------------- the message


def packed_members(digest: bytes) -> Body:
    """The body of a cut's or a confirmation's message."""
    return {"members": pack(digest)}


def parse_members(body: Body) -> bytes:
    """The digest of the set that its author signs."""
    return unpack(read_fields(body, "members")[0], 32)


# ---------------------------------------------------------------- what a party says


def sign_cut(mine: Secrets, public: PublicState, work: Work | None) -> Speech:
    """The signature under the set that is cut: one per run, ever."""
    require_crowd(mine, public, public.members)
    return packed_members(public.mark), work


def require_crowd(mine: Secrets, public: PublicState, members: frozenset[int]) -> None:
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


# ---------------------------------------------------------------- how everybody folds it


def fold_cut(state: PublicState, messages: Messages) -> PublicState:
    """A quorum signs the set; parties that did not sign stay in it, and are repaired if they are gone."""
    return fold_quorum(state, messages, state.inside)


def fold_quorum(state: PublicState, messages: Messages, members: tuple[int, ...]) -> PublicState:
    """Whoever signs another set than this is named; without a quorum the run ends."""
    signatures, faults = parse_messages(messages, members, lambda _, body: parse_members(body))
    faults |= {party: Fault.OTHER_MEMBERS for party, signed in signatures.items() if signed != state.mark}
    signers = frozenset(signatures) - frozenset(faults)
    left = replace(exclude_parties(state, messages, faults), signers=signers)
    return left if len(signers) >= state.agreement.plan.quorum else end_run(left, Fault.NO_QUORUM)
