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
from hubbub.gopa.crypto.shamir import recover_secret
from hubbub.gopa.protocol.faults import Fault, Named, Refused
from hubbub.gopa.protocol.masks import (
    LogarithmClaim,
    Opening,
    OpeningClaim,
    edge_mask,
    self_mask,
    shared_point,
    sum_openings,
)
from hubbub.gopa.protocol.message_bodies import Repair
from hubbub.gopa.protocol.public_state import FIRST, Mended, PublicState, Result, Wanted, end_run
from hubbub.gopa.protocol.wire import Message

# ---------------------------------------------------------------- one round


@dataclass(frozen=True)
class _Item:
    """Something that a message brings: a seed (at place 0), or a share of a seed or of a key."""

    author: int
    dealer: int
    kind: str
    place: int
    number: int
    point: bytes


def fold_repair_round(state: PublicState, messages: Mapping[int, Message]) -> PublicState:
    """One round of repair."""
    items, faults = _collect_items(state, messages)
    verdicts = verify_many([LogarithmClaim(item.number, item.point) for item in items])
    judged = list(zip(items, verdicts, strict=True))
    faults += [(item.author, Fault.BAD_OPENING) for item, holds in judged if not holds]
    named = [Named(party, fault, state.phase, (messages[party].line,)) for party, fault in dict.fromkeys(faults)]
    mended = _add_items(state, [item for item, holds in judged if holds])
    return _finish_round(replace(state, named=(*state.named, *named)), mended)


def _collect_items(state: PublicState, messages: Mapping[int, Message]) -> tuple[list[_Item], list[tuple[int, Fault]]]:
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
    if not now.wanted:
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
    return OpeningClaim(_edge_opening(state, key, one, other), [point], [sign])


def _edge_opening(state: PublicState, key: int, one: int, other: int) -> Opening:
    """What ``one`` added for an edge, from its mask key."""
    shared = shared_point(key, state.joins[other].mask_key)
    return edge_mask(state.view, one, other, shared, state.width)


def _sum_result(state: PublicState) -> PublicState:
    """The sum of values and noises over all that count: reveals, less self masks, plus what the others' edges hold."""
    counted, mended = sorted(state.counted), state.mended
    parts = [state.reveals[party] for party in counted]
    parts += [-self_mask(state.view, party, mended.seeds[party], state.width) for party in counted]
    for gone in state.members - state.counted:
        near = [other for other in state.net.around[gone] if other in state.counted]
        parts += [_edge_opening(state, mended.keys[gone], gone, other) for other in near]
    totals = sum_openings(parts, state.width).values
    most = len(counted) * (state.agreement.plan.steps + state.agreement.plan.noise_bits)
    if max(totals) > most:
        return end_run(state, Fault.CONTRADICTION)
    return replace(state, result=Result(totals, tuple(counted)))
