"""Each way to cheat is refused, the cheat is named, and everybody else finishes with the right sum."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest

from hubbub.gopa.crypto import bit_proof
from hubbub.gopa.crypto.ristretto import IDENTITY, ORDER, G, H, base, encode_scalar, minus, plus, times
from hubbub.gopa.in_process import Cheat, RunResult
from hubbub.gopa.protocol import board, party, verifier
from hubbub.gopa.protocol.faults import Fault
from hubbub.gopa.protocol.masks import shared_point
from hubbub.gopa.protocol.party import Party
from hubbub.gopa.protocol.phases.complaints import make_complaint
from hubbub.gopa.protocol.phases.folding import proof_context
from hubbub.gopa.protocol.phases.input_proofs import public_coins
from hubbub.gopa.protocol.public_state import PublicState
from hubbub.gopa.protocol.wire import pack, sign_message, unpack
from tests.gopa.cast import Change, cast, faults, flipped, honest_finish, instead, resigned, run, values

CHEAT = 3
NOT_CANONICAL = b"\xff" * 31 + b"\x7f"  # above the field's prime
NOT_A_POINT = b"\x02" + bytes(31)


def caught(cheat: Cheat, fault: Fault, *, out: bool = True) -> RunResult:
    """A run with one cheat in which it is named for that and the others finish."""
    told = run(cast(), values(), cheats={CHEAT: cheat})
    honest_finish(told, {CHEAT})
    assert fault in faults(told, CHEAT), told.public.named
    assert out == (CHEAT not in told.public.inside)
    return told


def field(name: str, change: Callable[[Any], Any]) -> Change:
    def changed(body: dict[str, Any]) -> dict[str, Any]:
        return {**body, name: change(body[name])}

    return changed


# ---------------------------------------------------------------- joining


@pytest.mark.parametrize("point", [IDENTITY, NOT_CANONICAL, NOT_A_POINT], ids=["identity", "non-canonical", "no point"])
@pytest.mark.parametrize("name", ["mask", "seal", "bits"])
def test_a_key_or_commitment_that_is_no_usable_point(name: str, point: bytes) -> None:
    caught(instead("join", field(name, lambda _: pack(point))), Fault.BAD_POINT)


@pytest.mark.parametrize("name", ["mask", "seal"])
def test_a_key_copied_from_another_party(name: str) -> None:
    """With a copied key a complaint would open the edge of two honest parties."""
    seen: list[dict[str, Any]] = []

    def watch(party: Party, public: PublicState, lines: tuple[bytes, ...]) -> Sequence[bytes]:
        if public.phase == "join":
            seen.append(json.loads(lines[0])["body"])
        return lines

    def copy(body: dict[str, Any]) -> dict[str, Any]:
        return {**body, name: seen[0][name], "shown": seen[0]["shown"]}

    told = run(cast(), values(), cheats={0: watch, CHEAT: instead("join", copy)})
    honest_finish(told, {CHEAT})
    assert faults(told, CHEAT) == {Fault.BAD_KEY}


def test_a_key_made_of_another_partys_key() -> None:
    def shifted(party: Party, public: PublicState, lines: tuple[bytes, ...]) -> Sequence[bytes]:
        if public.phase != "join":
            return lines
        body = json.loads(lines[0])["body"]
        return [resigned(party, public, {**body, "mask": pack(plus(unpack(body["mask"]), G))})]

    caught(shifted, Fault.BAD_KEY)


def test_a_withheld_nonce() -> None:
    caught(instead("nonce", lambda _: None), Fault.WITHHELD_NONCE)


def test_another_nonce_than_the_one_committed_to() -> None:
    caught(instead("nonce", field("nonce", flipped)), Fault.BAD_NONCE)


def test_withholding_a_nonce_moves_no_pick_of_anybody_else() -> None:
    who = cast()
    secrets = [party.start(who.agreement, one, value) for one, value in zip(who.identities, values(), strict=True)]
    picks = []
    for drops in (set(), {CHEAT}):
        from hubbub.gopa.protocol.board import Post, Shut

        log, state, crowd = board.open_board(who.agreement, who.board), verifier.start(who.agreement), list(secrets)
        for phase in ("join", "nonce"):
            for place, one in enumerate(crowd):
                if phase == "join" or place not in drops:
                    crowd[place], lines = party.step(one, state)
                    log, _ = board.step(log, Post(lines[0]))
            log, _ = board.step(log, Shut())
            state = verifier.step(state, log.chapters[-1])
        picks.append(state.net.picks)
    for place in set(range(7)) - {CHEAT}:
        assert picks[0][place] == picks[1][place]


# ---------------------------------------------------------------- values, noise and proofs


def proving(change: Callable[[Party, PublicState, dict[str, Any]], dict[str, Any]]) -> Cheat:
    def cheat(party: Party, public: PublicState, lines: tuple[bytes, ...]) -> Sequence[bytes]:
        if public.phase != "share" or not lines:
            return lines
        return [resigned(party, public, change(party, public, json.loads(lines[0])["body"]))]

    return cheat


def shifted_statement(by: int, on_noise: bool) -> Cheat:
    """The value (or the noise) moved by some steps, with the proof of the true one."""

    def change(party: Party, public: PublicState, body: dict[str, Any]) -> dict[str, Any]:
        points = unpack(body["statement"])
        value, noise = points[:32], points[32:]
        moved = base(by % ORDER)
        value, noise = (value, plus(noise, moved)) if on_noise else (plus(value, moved), noise)
        return {**body, "statement": pack(value + noise), "vector": pack(plus(value, noise))}

    return proving(change)


@pytest.mark.parametrize("by", [1, 100, -1, -100], ids=["above by one", "far above", "below by one", "far below"])
def test_a_value_out_of_range_or_negative(by: int) -> None:
    caught(shifted_statement(by, on_noise=False), Fault.BAD_PROOF)


@pytest.mark.parametrize("by", [1, -1])
def test_noise_changed_after_the_coins(by: int) -> None:
    caught(shifted_statement(by, on_noise=True), Fault.BAD_PROOF)


def test_bits_bound_anew_after_the_coins() -> None:
    def change(party: Party, public: PublicState, body: dict[str, Any]) -> dict[str, Any]:
        again = bit_proof.bind(public.agreement.shape, party.secrets.values, bytes(32))
        shown = bit_proof.prove(again, public_coins(public, party.place), proof_context(public, party.place, "share"))
        return {
            **body,
            "statement": pack(b"".join(shown.statement.points)),
            "proof": pack(shown.proof),
            "vector": pack(plus(*shown.statement.points)),
        }

    caught(proving(change), Fault.BAD_PROOF)


def test_something_else_than_a_bit() -> None:
    """A place of the bound vector holds 2: bound like that from the start, and proved as well as one can."""

    def bound(party: Party, public: PublicState, lines: tuple[bytes, ...]) -> Sequence[bytes]:
        body = json.loads(lines[0])["body"] if lines else {}
        if public.phase == "join":
            from hubbub.gopa.crypto.ristretto import bit_generator, complement_generator

            point = plus(unpack(body["bits"]), plus(bit_generator(0), complement_generator(0)))
            return [resigned(party, public, {**body, "bits": pack(point)})]
        return lines

    caught(bound, Fault.BAD_PROOF)


def copied(of: int, phase: str) -> tuple[Cheat, Cheat]:
    """One party is watched, the other posts its proof and statement."""
    seen: list[dict[str, Any]] = []

    def watch(party: Party, public: PublicState, lines: tuple[bytes, ...]) -> Sequence[bytes]:
        if public.phase == phase:
            seen.append(json.loads(lines[0])["body"])
        return lines

    def copy(body: dict[str, Any]) -> dict[str, Any]:
        return {**body, **{name: seen[0][name] for name in ("statement", "proof", "vector")}}

    return watch, instead(phase, copy)


def test_a_proof_of_another_party() -> None:
    watch, copy = copied(0, "share")
    told = run(cast(), values(), cheats={0: watch, CHEAT: copy})
    honest_finish(told, {CHEAT})
    assert faults(told, CHEAT) == {Fault.BAD_PROOF}


@pytest.mark.parametrize("where", ["run", "phase"])
def test_a_proof_of_another_run_or_phase(where: str) -> None:
    def change(party: Party, public: PublicState, body: dict[str, Any]) -> dict[str, Any]:
        mine = proof_context(public, party.place, "share")
        other = replace(mine, run=bytes(32)) if where == "run" else replace(mine, phase="linked")
        bound = party.work.bound if party.work else None
        assert bound is not None
        shown = bit_proof.prove(bound, public_coins(public, party.place), other)
        return {**body, "statement": pack(b"".join(shown.statement.points)), "proof": pack(shown.proof)} | {
            "vector": pack(plus(*shown.statement.points))
        }

    caught(proving(change), Fault.BAD_PROOF)


def test_two_cheats_that_swap_their_statements_inside_the_batch() -> None:
    """The sum over both would be right if the batch did not weigh each claim by itself."""
    seen: dict[int, dict[str, Any]] = {}
    parties: dict[int, tuple[Party, PublicState]] = {}

    def hold(party: Party, public: PublicState, lines: tuple[bytes, ...]) -> Sequence[bytes]:
        if public.phase != "share":
            return lines
        seen[party.place] = json.loads(lines[0])["body"]
        parties[party.place] = (party, public)
        if len(seen) < 2:
            return []
        swapped = {CHEAT: seen[CHEAT + 1], CHEAT + 1: seen[CHEAT]}
        names = ("statement", "vector")
        return [
            resigned(*parties[place], {**seen[place], **{name: swapped[place][name] for name in names}})
            for place in (CHEAT, CHEAT + 1)
        ]

    told = run(cast(), values(), cheats={CHEAT: hold, CHEAT + 1: hold})
    honest_finish(told, {CHEAT, CHEAT + 1})
    assert faults(told, CHEAT) == faults(told, CHEAT + 1) == {Fault.BAD_PROOF}


@pytest.mark.parametrize("point", [IDENTITY, NOT_CANONICAL], ids=["identity", "non-canonical"])
@pytest.mark.parametrize("name", ["statement", "vector", "own", "seed", "selves", "keys", "edges"])
def test_a_commitment_that_is_no_usable_point(name: str, point: bytes) -> None:
    def change(text: str) -> str:
        return pack(point + unpack(text)[32:])

    wanted = dict.fromkeys(["selves", "keys", "seed"], Fault.BAD_SHARES)
    if name == "edges" and point != IDENTITY:
        wanted["edges"] = Fault.MASK_MISMATCH  # its neighbour says so
    told = run(cast(), values(), cheats={CHEAT: instead("share", field(name, change))})
    honest_finish(told, {CHEAT})
    assert faults(told, CHEAT) <= {wanted.get(name, Fault.BAD_POINT), Fault.BAD_PROOF}


# ---------------------------------------------------------------- masks and shares


def test_a_mask_that_does_not_match() -> None:
    def change(text: str) -> str:
        data = unpack(text)
        return pack(plus(data[:32], G) + data[32:])

    told = caught(instead("share", field("edges", change)), Fault.MASK_MISMATCH)
    complaints = [line for line in told.board.chapters[3] if b'"complaints":[[' in line]
    assert len(complaints) == 1


def test_a_sealed_share_that_is_wrong() -> None:
    caught(instead("share", field("sealed", lambda text: flipped(text, 70))), Fault.BAD_SEAL)


def test_a_sealed_share_of_another_value_than_committed_to() -> None:
    """Sealed as it should be, but not the number whose point was posted."""

    def change(party: Party, public: PublicState, body: dict[str, Any]) -> dict[str, Any]:
        from hubbub.gopa.protocol.sealed_shares import SEALED, Share, seal

        victim = public.net.picks[party.place][0]
        key = party.secrets.key(public.agreement.run, "seal")
        wrong = seal(
            public.view,
            party.place,
            victim,
            shared_point(key, public.joins[victim].seal_key),
            Share(5, 7),
        )
        return {**body, "sealed": pack(wrong + unpack(body["sealed"])[SEALED:])}

    caught(proving(change), Fault.BAD_SEAL)


@pytest.mark.parametrize("name", ["selves", "keys"])
def test_shares_of_no_polynomial(name: str) -> None:
    """With such shares a later repair would depend on who helps, or fail."""

    def change(text: str) -> str:
        data = unpack(text)
        return pack(plus(data[:32], G) + data[32:])

    caught(instead("share", field(name, change)), Fault.BAD_SHARES)


def test_shares_of_another_secret() -> None:
    caught(instead("share", field("seed", lambda text: pack(plus(unpack(text), G)))), Fault.BAD_SHARES)


def test_a_self_mask_that_its_seed_does_not_give() -> None:
    """It reveals by the mask that it committed to; when the seed becomes public, the lie does too."""

    def cheat(party: Party, public: PublicState, lines: tuple[bytes, ...]) -> Sequence[bytes]:
        body = json.loads(lines[0])["body"] if lines else {}
        if public.phase == "share":
            return [resigned(party, public, {**body, "own": pack(plus(unpack(body["own"]), G))})]
        if public.phase == "reveal":
            number = int.from_bytes(unpack(body["masked"])[:32], "little") + 1
            masked = encode_scalar(number) + unpack(body["masked"])[32:]
            return [resigned(party, public, {"masked": pack(masked)})]
        return lines

    told = run(cast(), values(), cheats={CHEAT: cheat})
    honest_finish(told, {CHEAT})
    assert faults(told, CHEAT) == {Fault.MASK_MISMATCH}


def test_two_cheats_with_an_edge_of_their_own_making() -> None:
    """Neither complains; one never reveals. Their lie is seen in the repair, and both are out."""
    low, high = CHEAT, CHEAT + 1

    def first(party: Party, public: PublicState, lines: tuple[bytes, ...]) -> Sequence[bytes]:
        body = json.loads(lines[0])["body"] if lines else {}
        if public.phase == "share":
            at, data = public.net.edges[low, high], unpack(body["edges"])
            wrong = plus(data[32 * at : 32 * at + 32], G)
            return [resigned(party, public, {**body, "edges": pack(data[: 32 * at] + wrong + data[32 * at + 32 :])})]
        if public.phase == "reveal":
            number = int.from_bytes(unpack(body["masked"])[:32], "little") + 1
            return [resigned(party, public, {"masked": pack(encode_scalar(number) + unpack(body["masked"])[32:])})]
        return lines

    def second(party: Party, public: PublicState, lines: tuple[bytes, ...]) -> Sequence[bytes]:
        if public.phase == "complain":
            return [resigned(party, public, {"complaints": []})]
        return [] if public.phase == "reveal" else lines

    told = run(cast(), values(), cheats={low: first, high: second})
    honest_finish(told, {low, high})
    assert Fault.MASK_MISMATCH in faults(told, low) and Fault.MASK_MISMATCH in faults(told, high)


# ---------------------------------------------------------------- complaints


def complaining(about: int, kind: str, *, proof: Callable[[bytes], bytes] = lambda p: p) -> Cheat:
    def cheat(party: Party, public: PublicState, lines: tuple[bytes, ...]) -> Sequence[bytes]:
        if public.phase != "complain":
            return lines
        secret = party.secrets.key(public.agreement.run, kind)
        join = public.joins[about]
        shared = shared_point(secret, join.mask_key if kind == "mask" else join.seal_key)
        made = make_complaint(public, party.place, about, kind, secret, shared)
        item = [about, kind, pack(made.shared), pack(proof(made.proof))]
        return [resigned(party, public, {"complaints": [item]})]

    return cheat


@pytest.mark.parametrize("kind", ["mask", "seal"])
def test_a_false_complaint_puts_the_complainer_out_and_not_the_accused(kind: str) -> None:
    caught(complaining(0, kind), Fault.FALSE_COMPLAINT)


def test_a_complaint_with_a_wrong_proof_is_false() -> None:
    caught(complaining(0, "mask", proof=lambda p: p[:-1] + bytes([p[-1] ^ 1])), Fault.FALSE_COMPLAINT)


def test_a_complaint_about_nobody_or_about_oneself_is_false() -> None:
    for about in (99, CHEAT, -1):
        item = [about, "mask", pack(base(5)), pack(bytes(96))]
        caught(instead("complain", lambda _, item=item: {"complaints": [item]}), Fault.FALSE_COMPLAINT)


def test_complaints_of_many_about_one_cannot_isolate_it_and_open_nothing_of_its_edges_with_others() -> None:
    victim, liars = 0, (CHEAT, CHEAT + 1)
    told = run(cast(), values(), cheats={liar: complaining(victim, "mask") for liar in liars})
    honest_finish(told, set(liars))
    assert victim in told.public.inside
    assert not any(liar in told.public.inside for liar in liars)


# ---------------------------------------------------------------- cut, reveal, repair


def test_a_signature_under_another_set() -> None:
    told = run(cast(), values(), cheats={CHEAT: instead("cut", field("members", flipped))})
    assert faults(told, CHEAT) == {Fault.OTHER_MEMBERS}
    assert told.public.result is not None  # it is a member still, and its value counts


@pytest.mark.parametrize("place", [0, 32], ids=["number", "blinder"])
def test_a_wrong_opening(place: int) -> None:
    caught(instead("reveal", field("masked", lambda text: flipped(text, place))), Fault.BAD_OPENING, out=False)


def test_a_reveal_with_a_number_above_the_order_is_malformed() -> None:
    def change(text: str) -> str:
        return pack((int.from_bytes(unpack(text)[:32], "little") + ORDER).to_bytes(32, "little") + unpack(text)[32:])

    caught(instead("reveal", field("masked", change)), Fault.MALFORMED, out=False)


def late(phase: str) -> Cheat:
    """Keeps its message of one phase and posts it in the next."""
    kept: list[bytes] = []

    def cheat(party: Party, public: PublicState, lines: tuple[bytes, ...]) -> Sequence[bytes]:
        if public.phase == phase:
            kept.extend(lines)
            return []
        sent, kept[:] = [*kept, *lines], []
        return sent

    return cheat


@pytest.mark.parametrize("phase", ["nonce", "share", "reveal"])
def test_a_late_message_is_refused_with_a_code_and_its_author_is_out(phase: str) -> None:
    told = run(cast(), values(), cheats={CHEAT: late(phase)})
    honest_finish(told, {CHEAT})
    assert (Fault.WRONG_PHASE, CHEAT) in {(reply.fault, reply.party) for reply in told.refusals}


def test_a_reveal_replayed_as_another_partys() -> None:
    watch: list[Any] = []

    def watched(party: Party, public: PublicState, lines: tuple[bytes, ...]) -> Sequence[bytes]:
        if public.phase == "reveal":
            watch.append(json.loads(lines[0])["body"])
        return lines

    told = run(cast(), values(), cheats={0: watched, CHEAT: instead("reveal", lambda _: watch[0])})
    honest_finish(told, {CHEAT})
    assert faults(told, CHEAT) == {Fault.BAD_OPENING}


def test_the_reveal_of_a_party_that_is_out_counts_for_nothing() -> None:
    def cheat(party: Party, public: PublicState, lines: tuple[bytes, ...]) -> Sequence[bytes]:
        if public.phase == "complain":
            return []
        if public.phase == "reveal":
            return [resigned(party, public, {"masked": pack(bytes(64))})]
        return lines

    told = run(cast(), values(), cheats={CHEAT: cheat})
    honest_finish(told, {CHEAT})


@pytest.mark.parametrize("name", ["own", "selves", "keys"])
def test_what_must_not_be_given_in_a_repair_is_named_and_not_used(name: str) -> None:
    """Party 0 is gone before the reveal: its mask key may be opened, its seed never."""

    def cheat(party: Party, public: PublicState, lines: tuple[bytes, ...]) -> Sequence[bytes]:
        if public.phase != "repair-1":
            return lines
        body = json.loads(lines[0])["body"]
        share = party.work.shares if party.work else {}
        both = {
            "own": body,
            "selves": {**body, "selves": [[0, pack(encode_scalar(share[0].seed))]]},
            "keys": {**body, "keys": [*body["keys"], [1, pack(encode_scalar(share[1].key))]]},
        }[name]
        return [resigned(party, public, both)]

    told = run(cast(), values(), drops={0: "reveal"}, cheats={CHEAT: cheat})
    assert told.public.result is not None
    assert faults(told, CHEAT) == ({Fault.BOTH_RELEASED} if name != "own" else set())
    assert 0 not in told.public.mended.seed_shares and 1 not in told.public.mended.key_shares


@pytest.mark.parametrize("name", ["own", "keys"])
def test_a_wrong_seed_or_share_in_a_repair_is_named_and_not_used(name: str) -> None:
    def change(body: dict[str, Any]) -> dict[str, Any]:
        wrong = pack(encode_scalar(5))
        return {**body, name: wrong if name == "own" else [[0, wrong]]}

    told = run(cast(), values(), drops={0: "reveal"}, cheats={CHEAT: instead("repair-1", change)})
    assert told.public.result is not None
    assert set(told.public.result.parties) == {1, 2, 3, 4, 5, 6}  # its own reveal stands; others opened its seed
    assert faults(told, CHEAT) == {Fault.BAD_OPENING}


# ---------------------------------------------------------------- identities and runs


@pytest.mark.parametrize("phase", ["join", "nonce", "share", "complain"])
def test_two_different_messages_for_one_phase(phase: str) -> None:
    def cheat(party: Party, public: PublicState, lines: tuple[bytes, ...]) -> Sequence[bytes]:
        if public.phase != phase or not lines:
            return lines
        body = json.loads(lines[0])["body"]
        names = {"join": "mask", "nonce": "nonce", "share": "proof"}
        false = {"complaints": [[0, "mask", pack(G), pack(bytes(96))]]}
        other = false if phase == "complain" else {**body, names[phase]: flipped(body[names[phase]])}
        return [*lines, resigned(party, public, other)]

    told = run(cast(), values(), cheats={CHEAT: cheat})
    honest_finish(told, {CHEAT})
    assert faults(told, CHEAT) == {Fault.EQUIVOCATION}
    evidence = next(one.evidence for one in told.public.named if one.party == CHEAT)
    assert len(set(evidence)) == 2


def test_the_same_message_twice_is_no_offence() -> None:
    def twice(party: Party, public: PublicState, lines: tuple[bytes, ...]) -> Sequence[bytes]:
        return [*lines, *lines]

    told = run(cast(), values(), cheats={CHEAT: twice})
    honest_finish(told, set())


def test_a_message_under_another_partys_name() -> None:
    who = cast()

    def forged(party: Party, public: PublicState, lines: tuple[bytes, ...]) -> Sequence[bytes]:
        if public.phase != "join":
            return lines
        name = f'"party":{party.place}'.encode()
        return [lines[0].replace(name, b'"party":0'), *lines]

    told = run(who, values(), cheats={CHEAT: forged})
    honest_finish(told, set())
    assert Fault.BAD_SIGNATURE in {reply.fault for reply in told.refusals}


def test_a_stranger_and_a_party_on_the_roster_twice() -> None:
    from hubbub.gopa.protocol.identities import Identity
    from hubbub.terms import OutOfRange

    who = cast()
    with pytest.raises(OutOfRange):
        sign_message(who.agreement, Identity.new("p0"), "join", b"", {})  # the name is on the roster, the key is not
    with pytest.raises(OutOfRange):
        replace(who.agreement, roster=(*who.agreement.roster[:-1], who.agreement.roster[0]))


def test_parameters_changed_in_the_middle_of_a_run() -> None:
    who = cast()
    other = replace(who.agreement, plan=replace(who.agreement.plan, noise_bits=1))

    def elsewhere(party: Party, public: PublicState, lines: tuple[bytes, ...]) -> Sequence[bytes]:
        if public.phase != "share" or not lines:
            return lines
        return [sign_message(other, party.identity, "share", public.head, json.loads(lines[0])["body"])]

    told = run(who, values(), cheats={CHEAT: elsewhere})
    honest_finish(told, {CHEAT})
    assert (Fault.OTHER_RUN, CHEAT) in {(reply.fault, reply.party) for reply in told.refusals}
    one = party.start(who.agreement, who.identities[0], [1])

    stopped, lines = party.step(one, verifier.start(other))
    assert lines == () and stopped.stopped is not None and stopped.stopped.fault is Fault.OTHER_RUN


def test_an_honest_partys_lines_never_name_it() -> None:
    """The planted twin: without any cheat nobody is named, so the names above are not handed out freely."""
    told = run(cast(), values())
    honest_finish(told, set())
    assert minus(times(3, H), H) == times(2, H)
