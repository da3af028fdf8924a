"""How each phase changes the public state: who stays, who is named, and what is known afterwards."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

from hubbub.gopa.crypto import linked_commitments, sum_of_squares
from hubbub.gopa.crypto.batch_verification import Provable, verify_many
from hubbub.gopa.crypto.bit_proof import BitClaim, BitStatement
from hubbub.gopa.crypto.ristretto import IDENTITY, G, H, base, frame_parts, is_point, minus, plus, sum_points
from hubbub.gopa.crypto.schnorr import SameClaim, ZeroClaim
from hubbub.gopa.crypto.shamir import DegreeClaim, dual_word
from hubbub.gopa.crypto.transcript import Context
from hubbub.gopa.protocol import complaints as blame
from hubbub.gopa.protocol import dropout_recovery
from hubbub.gopa.protocol.faults import Fault, Named, Refused
from hubbub.gopa.protocol.masks import Opening
from hubbub.gopa.protocol.message_bodies import (
    Join,
    Shared,
    extra_proof_count,
    parse_complaints,
    parse_members,
    parse_nonce,
    parse_reveal,
)
from hubbub.gopa.protocol.public_state import PublicState, end_run, set_digest
from hubbub.gopa.protocol.reveal import bad_reveals
from hubbub.gopa.protocol.topology import Net, pick_parties
from hubbub.gopa.protocol.wire import Message

Messages = Mapping[int, Message]
Said = TypeVar("Said")
Faults = dict[int, Fault]


def proof_context(state: PublicState, party: int, what: str) -> Context:
    """Where a party's proofs of this run belong."""
    return Context(state.agreement.run, state.agreement.roster[party].name.encode(), what)


def _parse_messages(
    messages: Messages, who: Iterable[int], parse: Callable[[Message], Said]
) -> tuple[dict[int, Said], Faults]:
    """What these parties said, and who said nothing that can be read."""
    parsed: dict[int, Said] = {}
    faults: Faults = {}
    for party in who:
        if party not in messages:
            faults[party] = Fault.SILENT
            continue
        try:
            parsed[party] = parse(messages[party])
        except Refused as refused:
            faults[party] = refused.fault
    return parsed, faults


def _exclude_parties(state: PublicState, messages: Messages, faults: Faults) -> PublicState:
    """The state with these parties named (once each); the evidence is what they sent."""
    known = {one.party for one in state.named if one.phase == state.phase}
    fresh = [
        Named(party, fault, state.phase, (messages[party].line,) if party in messages else ())
        for party, fault in sorted(faults.items())
        if party not in known
    ]
    return replace(state, named=(*state.named, *fresh))


def _failing_parties(claims: Mapping[int, list[Provable]], fault: Fault) -> Faults:
    """The parties of whose claims one does not hold."""
    owners = [party for party, mine in claims.items() for _ in mine]
    verdicts = verify_many([claim for mine in claims.values() for claim in mine])
    return {party: fault for party, holds in zip(owners, verdicts, strict=True) if not holds}


def _end_if_too_few(state: PublicState) -> PublicState:
    """The state, or its end if fewer are left than was agreed."""
    return state if len(state.inside) >= state.agreement.plan.survivors else end_run(state, Fault.TOO_FEW)


# ---------------------------------------------------------------- join and nonce


def fold_join(state: PublicState, messages: Messages) -> PublicState:
    """Keys, bound bits and commitments to nonces."""
    bodies, faults = _parse_messages(
        messages, range(len(state.agreement.roster)), lambda message: Join.parse(message.body)
    )
    faults |= {party: Fault.BAD_POINT for party, join in bodies.items() if not _points_of(join)}
    claims = {p: _possession_claims(state, p, join) for p, join in bodies.items() if p not in faults}
    faults |= _failing_parties(claims, Fault.BAD_KEY)
    joins = {party: join for party, join in bodies.items() if party not in faults}
    return _end_if_too_few(replace(_exclude_parties(state, messages, faults), joins=joins, inside=tuple(joins)))


def _points_of(join: Join) -> bool:
    return all(is_point(point) and point != IDENTITY for point in (join.mask_key, join.seal_key, join.bits))


def _possession_claims(state: PublicState, party: int, join: Join) -> list[Provable]:
    keys = {"mask key": join.mask_key, "seal key": join.seal_key}
    return [
        SameClaim(key, H, shown[:32], shown[32:], proof_context(state, party, kind))
        for (kind, key), shown in zip(keys.items(), join.shown, strict=True)
    ]


def nonce_mark(run: bytes, party: int, nonce: bytes) -> bytes:
    """What is posted of a nonce before it is shown."""
    return hashlib.sha256(frame_parts(b"hubbub gopa nonce 1", run, party.to_bytes(4, "little"), nonce)).digest()


def fold_nonce(state: PublicState, messages: Messages) -> PublicState:
    """The nonces, and with them the graph and the coins."""
    bodies, faults = _parse_messages(messages, state.inside, lambda message: parse_nonce(message.body))
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
        _exclude_parties(state, messages, faults), net=Net(state.inside, chosen), seed=seed, inside=tuple(nonces)
    )
    return _end_if_too_few(left)


# ---------------------------------------------------------------- share


def fold_share(state: PublicState, messages: Messages) -> PublicState:
    """Commitments, proofs and shares: all proofs of all parties in a few long sums."""
    bodies, faults = _parse_messages(messages, state.inside, lambda message: _parse_shared(state, message))
    for party, shared in bodies.items():
        if IDENTITY in (shared.own, shared.vector, *shared.edges, *shared.statement.points) or not is_point(shared.own):
            faults[party] = Fault.BAD_POINT
        elif not _vector_fits(shared):
            faults[party] = Fault.BAD_PROOF
    sound = {party: shared for party, shared in bodies.items() if party not in faults}
    faults |= _failing_parties(_degree_claims(state, sound), Fault.BAD_SHARES)
    faults |= _failing_parties({p: _share_claims(state, p, shared) for p, shared in sound.items()}, Fault.BAD_PROOF)
    shares = {party: shared for party, shared in sound.items() if party not in faults}
    return _end_if_too_few(replace(_exclude_parties(state, messages, faults), shares=shares, inside=tuple(shares)))


def _parse_shared(state: PublicState, message: Message) -> Shared:
    net, party = state.net, message.party
    return Shared.parse(message.body, state.agreement, len(net.posts[party]), len(net.picks[party]))


def _vector_fits(shared: Shared) -> bool:
    """With one coordinate the vector commitment is the sum of the two, and there is nothing to prove."""
    points = shared.statement.points
    return len(points) > 2 or (all(map(is_point, points)) and shared.vector == plus(*points) and not shared.linked)


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


def _share_claims(state: PublicState, party: int, shared: Shared) -> list[Provable]:
    shape, bound = state.agreement.shape, state.joins[party].bits
    where = proof_context(state, party, "share")
    claims: list[Provable] = [BitClaim(shape, bound, state.coins(party), shared.statement, shared.proof, where)]
    if state.width > 1:
        sums = _noisy_commitments(shared.statement)
        claims.append(
            linked_commitments.LinkClaim(sums, shared.vector, shared.linked, proof_context(state, party, "linked"))
        )
    if state.agreement.quantity.ball:
        claims.append(ball_claim(state, party, shared.statement.values, shared.ball))
    zeros = zero_points(state, party, shared.statement.values)
    return claims + [
        ZeroClaim(p, s, proof_context(state, party, w)) for (w, p), s in zip(zeros, shared.extra, strict=True)
    ]


def _noisy_commitments(statement: BitStatement) -> list[bytes]:
    """Commitments to value plus noise; the identity, which proves nothing, if one is no point."""
    pairs = list(zip(statement.values, statement.noises, strict=True))
    return [plus(value, noise) if is_point(value) and is_point(noise) else IDENTITY for value, noise in pairs]


def ball_claim(state: PublicState, party: int, values: Sequence[bytes], proof: bytes) -> sum_of_squares.BallClaim:
    """That the values, less the middle and doubled, have squares that sum to at most steps squared."""
    steps = state.agreement.plan.steps
    middle = base(steps)
    doubled = [minus(plus(point, point), middle) if is_point(point) else IDENTITY for point in values]
    return sum_of_squares.BallClaim(doubled, steps * steps, proof, proof_context(state, party, "ball"))


def zero_points(state: PublicState, party: int, values: tuple[bytes, ...]) -> list[tuple[str, bytes]]:
    """The points that the quantity asks a party to prove to hold zero, with their names."""
    points: list[tuple[str, bytes]] = []
    if not all(map(is_point, values)):
        return [("no point", IDENTITY)] * extra_proof_count(state.agreement)
    if state.agreement.quantity.one_hot:
        points.append(("one-hot", minus(sum_points(values), G)))
    if state.agreement.previous:
        olds = state.earlier.points.get(state.agreement.roster[party], ()) if state.earlier else ()
        if len(olds) != len(values):  # it had no input then, and so cannot have the same one now
            return [("no point", IDENTITY)] * extra_proof_count(state.agreement)
        points += [(f"same {c}", minus(new, old)) for c, (new, old) in enumerate(zip(values, olds, strict=True))]
    return points


# ---------------------------------------------------------------- complain, cut, reveal, confirm


def fold_complain(state: PublicState, messages: Messages) -> PublicState:
    """Complaints are judged at once by anybody: each puts exactly one of two parties out. Who is left is the cut."""
    bodies, faults = _parse_messages(messages, state.inside, lambda message: parse_complaints(message.body))
    for party, complaints in bodies.items():
        faults |= blame.judge_complaints(state, party, complaints)
    left = tuple(party for party in state.inside if party not in faults)
    crowd = state.net.core(left, state.threshold)  # nobody whose crowd is too thin to hide in
    cut = _end_if_too_few(replace(_exclude_parties(state, messages, faults), inside=crowd))
    return cut if cut.over or cut.achieved.enough else end_run(cut, Fault.NOT_PRIVATE)


def fold_cut(state: PublicState, messages: Messages) -> PublicState:
    """A quorum signs the set; parties that did not sign stay in it, and are repaired if they are gone."""
    return _fold_quorum(state, messages, state.inside)


def fold_reveal(state: PublicState, messages: Messages) -> PublicState:
    """Masked sums that open what their authors committed to; of their authors, all whose crowd is still there."""
    openings, faults = _parse_messages(messages, state.inside, lambda message: parse_reveal(message.body, state.width))
    wrong = bad_reveals(state, openings)
    faults |= dict.fromkeys(wrong, Fault.BAD_OPENING)
    reveals: dict[int, Opening] = {party: opening for party, opening in openings.items() if party not in wrong}
    crowd = state.net.core(reveals, state.threshold)
    left = replace(_exclude_parties(state, messages, faults), reveals=reveals, revealed=crowd)
    if len(crowd) < state.agreement.plan.survivors:
        return end_run(left, Fault.TOO_FEW)
    return left if left.achieved.enough else end_run(left, Fault.NOT_PRIVATE)


def fold_confirm(state: PublicState, messages: Messages) -> PublicState:
    """A quorum signs the set of those who revealed."""
    return _fold_quorum(state, messages, state.revealed)


def _fold_quorum(state: PublicState, messages: Messages, members: tuple[int, ...]) -> PublicState:
    signatures, faults = _parse_messages(messages, members, lambda message: parse_members(message.body))
    mark = set_digest(state.agreement, members)
    faults |= {party: Fault.OTHER_MEMBERS for party, signed in signatures.items() if signed != mark}
    signers = frozenset(signatures) - frozenset(faults)
    left = replace(_exclude_parties(state, messages, faults), signers=signers)
    return left if len(signers) >= state.agreement.plan.quorum else end_run(left, Fault.NO_QUORUM)


def fold_repair(state: PublicState, messages: Messages) -> PublicState:
    """Self masks and shares, until the sum is known or nobody can help any more."""
    return dropout_recovery.fold_repair_round(state, messages)


FOLDS: Mapping[str, Callable[[PublicState, Messages], PublicState]] = {
    "join": fold_join,
    "nonce": fold_nonce,
    "share": fold_share,
    "complain": fold_complain,
    "cut": fold_cut,
    "reveal": fold_reveal,
    "confirm": fold_confirm,
}
