"""Complaints: who of two parties lied about what only the two of them share.

A complaint carries the Diffie-Hellman point of the two keys, with a proof that it is theirs. From it anybody computes
what the accused should have posted: the edge's commitment, or a share that opens its commitment. If the accused posted
just that, the complaint was false and the complainer is out; if not, the accused is. No answer is asked for, so an
accused party never has to open anything, however often it is accused; and since one of the two always leaves before the
cut, the one edge that a complaint opens hides nobody's number. A seal has keys of its own, so opening one shows the one
share that its two parties know anyway.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from operator import mul

from hubbub.gopa.crypto.multi_scalar import combine
from hubbub.gopa.crypto.ristretto import ORDER
from hubbub.gopa.crypto.schnorr import prove_same, verify_same
from hubbub.gopa.protocol.faults import Fault, Refused
from hubbub.gopa.protocol.masks import Opening, edge_mask, shared_point, sum_openings
from hubbub.gopa.protocol.party_secrets import Secrets, Speech, Work
from hubbub.gopa.protocol.phases.folding import (
    Faults,
    Messages,
    end_if_too_few,
    exclude_parties,
    parse_messages,
    proof_context,
)
from hubbub.gopa.protocol.phases.nonce import require_inside
from hubbub.gopa.protocol.phases.share import redo_work, valid_share
from hubbub.gopa.protocol.public_state import PublicState, end_run
from hubbub.gopa.protocol.sealed_shares import unseal
from hubbub.gopa.protocol.wire import Body, pack, read_fields, unpack
from hubbub.terms import OutOfRange

KINDS = ("mask", "seal")

# ---------------------------------------------------------------- the message


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


def packed_complaints(complaints: Sequence[Complaint]) -> Body:
    """The body of a complaint phase's message; none means that all is well."""
    return {"complaints": [[c.accused, c.kind, pack(c.shared), pack(c.proof)] for c in complaints]}


def parse_complaints(body: Body) -> tuple[Complaint, ...]:
    """The complaints of one party: each about another edge or seal."""
    (items,) = read_fields(body, "complaints")
    if not isinstance(items, list):
        raise Refused(Fault.MALFORMED)
    complaints = tuple(map(Complaint.parse, items))
    if len({(one.accused, one.kind) for one in complaints}) < len(complaints):
        raise Refused(Fault.MALFORMED)
    return complaints


# ---------------------------------------------------------------- what a party says


def say_complaints(mine: Secrets, public: PublicState, work: Work | None) -> Speech:
    """Everything that others posted for this party is checked; most often there is nothing to say, and that is said."""
    require_inside(mine, public)
    current = redo_work(mine, public, work)
    seal_key = mine.key(public.agreement.run, "seal")
    held = {dealer: place for dealer, place in public.net.held[mine.place] if dealer in public.shares}
    points = {dealer: shared_point(seal_key, public.joins[dealer].seal_key) for dealer in held}
    shares = {
        dealer: unseal(public.view, dealer, mine.place, points[dealer], public.shares[dealer].sealed[place - 1])
        for dealer, place in held.items()
    }
    opened = {dealer: one for dealer, one in shares.items() if one is not None}
    known = replace(current, shares=opened)
    if len(opened) == len(held) and _all_right(mine, public, known):
        return packed_complaints(()), known
    return packed_complaints(_find_complaints(mine, public, known, points)), known


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


def _edge_posters(mine: Secrets, public: PublicState) -> list[int]:
    """The neighbours that posted the commitment of the edge with this party."""
    me = mine.place
    return [one for one in public.net.around[me] if one in public.shares and (one, me) in public.net.edges]


def _find_complaints(mine: Secrets, public: PublicState, work: Work, points: Mapping[int, bytes]) -> list[Complaint]:
    """One complaint for each edge and each share that is not what it should be."""
    me, run = mine.place, public.agreement.run
    complaints = []
    mask_key, seal_key = mine.key(run, "mask"), mine.key(run, "seal")
    for other in _edge_posters(mine, public):
        if (-work.edges[other]).point() != public.edge(other, me)[0]:
            shared = shared_point(mask_key, public.joins[other].mask_key)
            complaints.append(make_complaint(public, me, other, "mask", mask_key, shared))
    for dealer, shared in points.items():
        if valid_share(public, dealer, me, shared) is None:
            complaints.append(make_complaint(public, me, dealer, "seal", seal_key, shared))
    return complaints


def make_complaint(state: PublicState, me: int, accused: int, kind: str, secret: int, shared: bytes) -> Complaint:
    """A complaint of ``me``, whose key of this kind has this secret."""
    context = proof_context(state, me, f"complain {kind}")
    return Complaint(accused, kind, shared, prove_same(secret, _public_key(state, accused, kind), context))


def _public_key(state: PublicState, party: int, kind: str) -> bytes:
    join = state.joins[party]
    return join.mask_key if kind == "mask" else join.seal_key


# ---------------------------------------------------------------- how everybody folds it


def fold_complaints(state: PublicState, messages: Messages) -> PublicState:
    """Complaints are judged at once by anybody: each puts exactly one of two parties out. Who is left is the cut."""
    bodies, faults = parse_messages(messages, state.inside, lambda _, body: parse_complaints(body))
    for party, complaints in bodies.items():
        faults |= judge_complaints(state, party, complaints)
    left = tuple(party for party in state.inside if party not in faults)
    crowd = state.net.core(left, state.threshold)  # nobody whose crowd is too thin to hide in
    cut = end_if_too_few(replace(exclude_parties(state, messages, faults), inside=crowd))
    return cut if cut.over or cut.achieved.enough else end_run(cut, Fault.NOT_PRIVATE)


def judge_complaints(state: PublicState, complainer: int, complaints: Sequence[Complaint]) -> Faults:
    """Who is out after one party's complaints, and why; a false one ends the reading.

    Guarantee: a party that followed the protocol is never found at fault, whoever complains.
    Because: [CP92]: the point is the one of the two keys, and what follows from it is what an honest party posted.
    """
    faults: Faults = {}
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
    if not verify_same(*keys, complaint.shared, complaint.proof, proof_context(state, me, f"complain {kind}")):
        return False
    if kind == "mask":
        return not _edge_right(state, accused, me, complaint.shared)
    return valid_share(state, accused, me, complaint.shared) is None


def _has_posted_for(state: PublicState, me: int, accused: int, kind: str) -> bool:
    """Whether the accused posted anything of this kind for the complainer."""
    return (accused, me) in state.net.edges if kind == "mask" else state.net.place(accused, me) is not None


def _edge_right(state: PublicState, poster: int, other: int, shared: bytes) -> bool:
    """Whether the commitment that ``poster`` posted for an edge is the one that its Diffie-Hellman point gives."""
    return edge_mask(state.view, poster, other, shared, state.width).point() == state.edge(poster, other)[0]
