"""Rounds of repair: as many as liars can make necessary, and an end for all if that is not enough."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from hubbub.gopa import Clock, Keeper, plan, verify
from hubbub.gopa.crypto.ristretto import ORDER, G, encode_scalar, plus
from hubbub.gopa.in_process import RunResult, people
from hubbub.gopa.protocol import board, wire
from hubbub.gopa.protocol.board import Shut
from hubbub.gopa.protocol.faults import Abort, Fault
from hubbub.gopa.protocol.party import Party
from hubbub.gopa.protocol.public_state import PublicState
from hubbub.gopa.protocol.wire import pack, unpack
from tests.gopa.cast import cast, honest_finish, resigned, run, values


def more(party: Party, public: PublicState, body: dict[str, Any], by: int) -> bytes:
    """A reveal with a number that is larger by this."""
    data = unpack(body["masked"])
    number = (int.from_bytes(data[:32], "little") + by) % ORDER
    return resigned(party, public, {"masked": pack(encode_scalar(number) + data[32:])})


def start_of_a_path(party: Party, public: PublicState, lines: tuple[bytes, ...]) -> Sequence[bytes]:
    """Party 0 has a wrong self mask and, with party 1, a wrong edge."""
    body = json.loads(lines[0])["body"] if lines else {}
    if public.phase == "share":
        at, data = public.net.edges[0, 1], unpack(body["edges"])
        edges = data[: 32 * at] + plus(data[32 * at : 32 * at + 32], G) + data[32 * at + 32 :]
        return [resigned(party, public, {**body, "edges": pack(edges), "own": pack(plus(unpack(body["own"]), G))})]
    return [more(party, public, body, 2)] if public.phase == "reveal" else lines


def end_of_a_path(party: Party, public: PublicState, lines: tuple[bytes, ...]) -> Sequence[bytes]:
    """Party 1 lets the edge stand and reveals by it."""
    if public.phase == "complain":
        return [resigned(party, public, {"complaints": []})]
    return [more(party, public, json.loads(lines[0])["body"], -1)] if public.phase == "reveal" else lines


def path_of_liars() -> RunResult:
    """All the corrupted on a path, the first of whom is silent: its seed comes a round later, from its holders."""
    who = cast()
    assert who.agreement.plan.corrupted == 2
    return run(who, values(), drops={0: "repair-1"}, cheats={0: start_of_a_path, 1: end_of_a_path})


def test_liars_on_a_path_cost_a_round_each_and_are_named_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two rounds, and one for each of the corrupted, are enough; and so a run has them, however many they are."""
    monkeypatch.setattr(wire, "SPARE", 2)
    told = path_of_liars()
    honest_finish(told, {0, 1})
    assert told.public.phase == "repair-4" == wire.last_phase(told.public.agreement)
    assert [one.party for one in told.public.named if one.fault is Fault.MASK_MISMATCH] == [0, 1]


def test_a_run_has_more_rounds_of_repair_than_corrupted_parties() -> None:
    made = plan(20, 0.2, 500, honest=Fraction(3, 5), dropouts=0, steps=3)
    assert made.corrupted == 200
    assert wire.ORDER[wire.last_phase(people(500, planned=made).agreement)] >= wire.ORDER["repair-1"] + 201


def test_the_last_phase_can_be_shut_and_the_run_is_stuck_for_all(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """With one round too few: for the parties, for whoever reads the log, and for a board that comes back."""
    monkeypatch.setattr(wire, "SPARE", 1)
    told = path_of_liars()
    agreed, identity = told.public.agreement, told.board.identity
    assert told.public.abort == verify(told.log).abort == Abort(Fault.STUCK, "repair-3")
    assert board.step(told.board, Shut())[1].fault is Fault.WRONG_PHASE
    (tmp_path / "run.log").write_bytes(b"".join(line + b"\n" for line in told.log[:-1]))
    with Keeper(agreed, identity, tmp_path / "run.log", clock=Clock(deadline=0.1)) as keeper:
        assert asyncio.run(asyncio.wait_for(keeper.run(), 60)).abort == told.public.abort
        assert keeper.standing.over and keeper.standing.height == len(told.log) - 1
