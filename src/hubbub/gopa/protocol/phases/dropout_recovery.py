"""Repair: taking all masks out of the sum, whoever has gone.

U is the cut, R are those who revealed, both signed by a quorum. For a member of R the seed of its self mask becomes
public: by its own word or, if it is silent, by t shares. For a member of U that is not in R the mask key does, by t
shares: its edges then tell what they left in the others' reveals. EITHER the one OR the other, for nobody both.

The exception are proven liars: a member of R whose public seed does not give the self mask it committed to, or two
parties that posted, or let stand, an edge commitment which their keys do not give (an honest one would have
complained). Anybody can see it; a liar of R is taken out of the sum and its mask key asked for too. So a lie costs a
round and its author, never the result: liars with wrong edges along a path of the graph are found one after the other,
and a run has more rounds than it may have liars (``wire.last_phase``).

Rounds go on until the sum is known. A round that brings nothing new, when something is missing, ends the run, and so
does the last.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from hubbub.gopa.crypto.batch_verification import verify_many
from hubbub.gopa.crypto.point_equations import Equation, random_weight
from hubbub.gopa.crypto.ristretto import decode_scalar, encode_scalar
from hubbub.gopa.crypto.shamir import recover_secret
from hubbub.gopa.protocol.faults import Fault, Named, Refused
from hubbub.gopa.protocol.masks import OpeningClaim, self_mask, shared_point, sum_openings
from hubbub.gopa.protocol.party_secrets import Secrets, Speech, Work
from hubbub.gopa.protocol.phases.cut import require_crowd
from hubbub.gopa.protocol.phases.folding import Messages
from hubbub.gopa.protocol.phases.reveal import require_signatures
from hubbub.gopa.protocol.phases.share import edge_opening, redo_work, self_mask_seed, valid_share
from hubbub.gopa.protocol.public_state import FIRST, Mended, PublicState, Result, Wanted, end_run
from hubbub.gopa.protocol.sealed_shares import Share
from hubbub.gopa.protocol.wire import Body, pack, read_fields, unpack

# ---------------------------------------------------------------- the message


@dataclass(frozen=True, slots=True)
class Repair:
    """The seed of the author's own self mask (or none), and its shares of others' seeds and of others' mask keys."""

    own: int | None
    selves: Mapping[int, int]
    keys: Mapping[int, int]

    def packed(self) -> Body:
        return {
            "own": "" if self.own is None else pack(encode_scalar(self.own)),
            "selves": [[dealer, pack(encode_scalar(share))] for dealer, share in sorted(self.selves.items())],
            "keys": [[dealer, pack(encode_scalar(share))] for dealer, share in sorted(self.keys.items())],
        }

    @classmethod
    def parse(cls, body: Body) -> Repair:
        own, selves, keys = read_fields(body, "own", "selves", "keys")
        return cls(
            own=None if own == "" else _parse_scalar(own),
            selves={dealer: _parse_scalar(text) for dealer, text in _parse_pairs(selves)},
            keys={dealer: _parse_scalar(text) for dealer, text in _parse_pairs(keys)},
        )


def _parse_pairs(items: object) -> list[tuple[int, object]]:
    """(dealer, text) in rising order, each dealer once."""
    if not isinstance(items, list) or not all(isinstance(i, list) and len(i) == 2 and type(i[0]) is int for i in items):
        raise Refused(Fault.MALFORMED)
    dealers = [item[0] for item in items]
    if dealers != sorted(set(dealers)):
        raise Refused(Fault.MALFORMED)
    return [(item[0], item[1]) for item in items]


def _parse_scalar(text: object) -> int:
    value = decode_scalar(unpack(text, 32))
    if value is None:
        raise Refused(Fault.MALFORMED)
    return value


# ---------------------------------------------------------------- what a party says


def say_repair(mine: Secrets, public: PublicState, work: Work | None) -> Speech:
    """The own self mask, and shares of those who are gone: of each EITHER the self mask OR the mask key."""
    me = mine.place
    require_crowd(mine, public, public.opened)
    if public.phase == FIRST:
        require_signatures(public)
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
            if (one := valid_share(public, dealer, mine.place, shared)) is not None:
                shares[dealer] = one
    return shares


# ---------------------------------------------------------------- how everybody folds one round


@dataclass(frozen=True)
class LogarithmClaim:
    """That a public number times G is a point; for `verify_many`."""

    number: int
    point: bytes

    def equation(self) -> Equation | None:
        by = random_weight()
        return Equation(on_g=-by * self.number, scalars=[by], points=[self.point])


@dataclass(frozen=True)
class _Item:
    """Something that a message brings: a seed (at place 0), or a share of a seed or of a key."""

    author: int
    dealer: int
    kind: str
    place: int
    number: int
    point: bytes


def fold_repair(state: PublicState, messages: Messages) -> PublicState:
    """Self masks and shares, until the sum is known or nobody can help any more: one round of it."""
    items, faults = _collect_items(state, messages)
    verdicts = verify_many([LogarithmClaim(item.number, item.point) for item in items])
    judged = list(zip(items, verdicts, strict=True))
    faults += [(item.author, Fault.BAD_OPENING) for item, holds in judged if not holds]
    named = [Named(party, fault, state.phase, (messages[party].line,)) for party, fault in dict.fromkeys(faults)]
    mended = _add_items(state, [item for item, holds in judged if holds])
    return _finish_round(replace(state, named=(*state.named, *named)), mended)


def _collect_items(state: PublicState, messages: Messages) -> tuple[list[_Item], list[tuple[int, Fault]]]:
    items: list[_Item] = []
    faults: list[tuple[int, Fault]] = []
    may = state.releasable
    for party in sorted(state.members & messages.keys()):
        try:
            repair = Repair.parse(messages[party].body)
        except Refused as refused:
            faults.append((party, refused.fault))
            continue
        brought = _message_items(state, party, repair, may)
        items += [item for item in brought if item is not None]
        if None in brought:
            faults.append((party, Fault.BOTH_RELEASED))
    return items, faults


def _message_items(state: PublicState, party: int, repair: Repair, may: Wanted) -> list[_Item | None]:
    """What one message brings; None for what must not be given."""
    items: list[_Item | None] = []
    if repair.own is not None:
        own = _Item(party, party, "seed", 0, repair.own, state.shares[party].seed)
        items.append(own if party in state.counted else None)
    items += [_share_item(state, party, dealer, "seed", n, may.seeds) for dealer, n in repair.selves.items()]
    return items + [_share_item(state, party, dealer, "key", n, may.keys) for dealer, n in repair.keys.items()]


def _share_item(
    state: PublicState, party: int, dealer: int, kind: str, number: int, may: frozenset[int]
) -> _Item | None:
    place = state.net.place(dealer, party)
    if dealer not in may or place is None:
        return None
    points = state.shares[dealer].selves if kind == "seed" else state.shares[dealer].keys
    return _Item(party, dealer, kind, place, number, points[place - 1])


# ---------------------------------------------------------------- what is known then


def _add_items(state: PublicState, items: Sequence[_Item]) -> Mended:
    """All that was known, the new items, and the secrets that enough shares give."""
    mended = state.mended
    own = {item.dealer: item.number for item in items if item.place == 0}
    seed_shares = _merge_shares(mended.seed_shares, [item for item in items if item.kind == "seed" and item.place])
    key_shares = _merge_shares(mended.key_shares, [item for item in items if item.kind == "key"])
    seeds = {**_recover_secrets(seed_shares, state.threshold), **mended.seeds, **own}
    keys = {**_recover_secrets(key_shares, state.threshold), **mended.keys}
    return Mended(seeds, keys, seed_shares, key_shares, mended.cheats)


Shares = Mapping[int, Mapping[int, int]]


def _merge_shares(known: Shares, items: Iterable[_Item]) -> Shares:
    merged = {dealer: dict(held) for dealer, held in known.items()}
    for item in items:
        merged.setdefault(item.dealer, {})[item.place] = item.number
    return merged


def _recover_secrets(shares: Shares, threshold: int) -> dict[int, int]:
    return {dealer: recover_secret(held) for dealer, held in shares.items() if len(held) >= threshold}


def _finish_round(state: PublicState, mended: Mended) -> PublicState:
    """The state with what is known now: with the sum, if nothing is missing; at its end, if nobody helps."""
    liars = _bad_seeds(state, mended) | _bad_edges(state, mended)
    known = {one.party for one in state.named if one.fault is Fault.MASK_MISMATCH}
    named = tuple(Named(party, Fault.MASK_MISMATCH, state.phase) for party in sorted(liars - known))
    cheats = mended.cheats | (liars & state.counted)
    now = replace(state, mended=replace(mended, cheats=cheats), named=(*state.named, *named))
    if not (now.wanted.seeds or now.wanted.keys):
        return _sum_result(now)
    return now if state.phase == FIRST or now.mended != state.mended else end_run(now, Fault.STUCK)


def _bad_seeds(state: PublicState, mended: Mended) -> set[int]:
    """Those whose seed, public now, does not give the self mask that they committed to."""
    fresh = [party for party in mended.seeds if party not in state.mended.seeds]
    masks = [self_mask(state.view, party, mended.seeds[party], state.width) for party in fresh]
    claims = [OpeningClaim(mask, [state.shares[party].own], [1]) for party, mask in zip(fresh, masks, strict=True)]
    return {party for party, holds in zip(fresh, verify_many(claims), strict=True) if not holds}


def _bad_edges(state: PublicState, mended: Mended) -> set[int]:
    """Both ends of every edge whose commitment is not what its keys give; one of the keys is public now."""
    fresh = [party for party in mended.keys if party not in state.mended.keys]
    pairs = [(one, other) for one in fresh for other in state.net.around[one] if other in state.members]
    claims = [_edge_claim(state, mended.keys[one], one, other) for one, other in pairs]
    return {party for pair, holds in zip(pairs, verify_many(claims), strict=True) if not holds for party in pair}


def _edge_claim(state: PublicState, key: int, one: int, other: int) -> OpeningClaim:
    point, sign = state.edge(one, other)
    return OpeningClaim(edge_opening(state, one, other, key), [point], [sign])


def _sum_result(state: PublicState) -> PublicState:
    """The sum of values and noises over all that count: reveals, less self masks, plus what the others' edges hold."""
    counted, mended = sorted(state.counted), state.mended
    parts = [state.reveals[party] for party in counted]
    parts += [-self_mask(state.view, party, mended.seeds[party], state.width) for party in counted]
    for gone in state.members - state.counted:
        near = [other for other in state.net.around[gone] if other in state.counted]
        parts += [edge_opening(state, gone, other, mended.keys[gone]) for other in near]
    totals = sum_openings(parts, state.width).values
    most = len(counted) * (state.agreement.plan.steps + state.agreement.plan.noise_bits)
    if max(totals) > most:
        return end_run(state, Fault.CONTRADICTION)
    return replace(state, result=Result(totals, tuple(counted)))
