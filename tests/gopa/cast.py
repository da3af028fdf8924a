"""People for small, quick runs, and ways to say something else than the protocol asks for."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any

from hubbub.gopa.in_process import Cheat, People, RunResult, people, run
from hubbub.gopa.privacy.calibration import RunPlan, plan
from hubbub.gopa.protocol.agreement import Quantity
from hubbub.gopa.protocol.faults import Fault
from hubbub.gopa.protocol.party import Party
from hubbub.gopa.protocol.public_state import PublicState
from hubbub.gopa.protocol.wire import pack, sign_message, unpack

Change = Callable[[dict[str, Any]], Mapping[str, Any] | None]


def small(count: int = 7, *, picks: int | None = None, **more: Any) -> RunPlan:
    """A plan with little noise: epsilon is large, since these runs test messages and not privacy."""
    made = plan(20, 0.2, count, honest=Fraction(5, 7), dropouts=Fraction(2, 7), steps=3)
    if picks is not None:
        made = replace(made, degree=picks, share_threshold=Fraction(1, 2))
    return replace(made, **more)


def cast(count: int = 7, *, quantity: Quantity | None = None, planned: RunPlan | None = None, **more: Any) -> People:
    return people(count, planned=planned or small(count), quantity=quantity, **more)


def values(count: int = 7) -> list[list[int]]:
    return [[place % 4] for place in range(count)]


def instead(phase: str, change: Change) -> Cheat:
    """A party that in one phase signs a changed body (or, if there is none, says nothing)."""

    def cheat(party: Party, public: PublicState, lines: tuple[bytes, ...]) -> list[bytes]:
        if public.phase != phase or not lines:
            return list(lines)
        body = change(json.loads(lines[0])["body"])
        return [] if body is None else [resigned(party, public, body)]

    return cheat


def resigned(party: Party, public: PublicState, body: Mapping[str, Any]) -> bytes:
    return sign_message(party.agreement, party.identity, public.phase, public.head, body)


def flipped(text: str, place: int = 0, bit: int = 1) -> str:
    """The base64 text with one bit changed."""
    data = bytearray(unpack(text))
    data[place] ^= bit
    return pack(bytes(data))


def faults(told: RunResult, party: int) -> set[Fault]:
    return {one.fault for one in told.public.named if one.party == party}


def honest_finish(told: RunResult, cheats: set[int]) -> None:
    """There is a result of everybody but the cheats, and no honest party was named or stopped."""
    assert told.public.result is not None, told.public.abort
    everybody = set(range(len(told.parties)))
    assert set(told.public.result.parties) == everybody - cheats
    assert all(one.party in cheats for one in told.public.named)
    assert all(told.parties[place].stopped is None for place in everybody - cheats)


__all__ = [
    "Change",
    "cast",
    "faults",
    "flipped",
    "honest_finish",
    "instead",
    "pack",
    "resigned",
    "run",
    "small",
    "unpack",
    "values",
]
