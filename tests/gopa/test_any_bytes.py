"""Whatever comes, board, verifier and party answer with a code and never with an exception."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hubbub.gopa import Sensitivity
from hubbub.gopa.in_process import RunResult
from hubbub.gopa.protocol import board, certificate, log_chain, party, public_state, verifier, wire
from hubbub.gopa.protocol.agreement import Quantity
from hubbub.gopa.protocol.board import Post, Reply, Shut
from hubbub.gopa.protocol.faults import Fault, Refused
from hubbub.gopa.protocol.public_state import PublicState
from hubbub.terms import HubbubError
from tests.gopa.cast import cast, run, small, values

QUICK = settings(max_examples=60, database=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.text(max_size=8) | st.floats(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=6,
)


DROPS = {5: "reveal", 6: "repair-1"}


@pytest.fixture(scope="module")
def told() -> RunResult:
    return run(cast(), values(), drops=DROPS)


@pytest.fixture(scope="module", params=["one-hot", "norm"])
def vectors(request: pytest.FixtureRequest) -> Iterator[RunResult]:
    """Runs whose messages have more parts; that their crowd is private enough is not asked here."""
    kind, one_hot = request.param, request.param == "one-hot"
    enough = public_state._achieved_privacy(small(), 7, 7)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(public_state, "_achieved_privacy", lambda *_: enough)
        plan = small(steps=1 if one_hot else 6, sensitivity=Sensitivity(kind, 2))
        who = cast(planned=plan, quantity=Quantity(coordinates=2, one_hot=one_hot, ball=not one_hot))
        yield run(who, [[0, 1] if one_hot else [3, 2]] * 7, drops=DROPS)


def lines_of(told: RunResult) -> list[bytes]:
    return [line for chapter in told.board.chapters for line in chapter]


@st.composite
def damaged(draw: st.DrawFn, lines: list[bytes]) -> bytes:
    """A line that was cut, grew, or had bytes changed."""
    line = bytearray(draw(st.sampled_from(lines)))
    kind = draw(st.sampled_from(["cut", "grow", "change", "doubled"]))
    at = draw(st.integers(0, len(line) - 1))
    if kind == "cut":
        return bytes(line[:at])
    if kind == "grow":
        return bytes(line[:at]) + draw(st.binary(min_size=1, max_size=9)) + bytes(line[at:])
    if kind == "doubled":
        return bytes(line + line)
    line[at] ^= draw(st.integers(1, 255))
    return bytes(line)


def board_at(told: RunResult, chapter: int) -> board.Board:
    log = [line for part in told.board.chapters[:chapter] for line in part]
    return board.restore_board(told.board.agreement, told.board.identity, log)


@QUICK
@given(data=st.data(), chapter=st.integers(0, 8))
def test_the_board_takes_no_bytes_but_messages(told: RunResult, data: st.DataObject, chapter: int) -> None:
    line = data.draw(st.binary(max_size=300) | damaged(lines_of(told)))
    state = board_at(told, chapter)
    after, reply = board.step(state, Post(line))
    assert isinstance(reply, Reply)
    assert not reply.taken and isinstance(reply.fault, Fault)
    assert after.posted.all() == state.posted.all()


@QUICK
@given(data=st.data(), chapter=st.integers(0, 8))
def test_the_verifier_folds_any_lines(told: RunResult, data: st.DataObject, chapter: int) -> None:
    state = told.states[chapter]
    extra = data.draw(st.lists(st.binary(max_size=200) | damaged(lines_of(told)), max_size=3))
    lines = [*told.board.chapters[chapter][:-1], *extra]
    lines = data.draw(st.permutations(lines))
    after = refolded(told, state, lines)
    assert isinstance(after, PublicState) and after.abort is None
    assert after.inside == told.states[chapter + 1].inside if chapter + 1 < len(told.states) else after.result
    raw = verifier.step(state, data.draw(st.lists(st.binary(max_size=60), max_size=3)))
    assert raw.abort is not None and raw.abort.fault is Fault.BAD_LOG


def refolded(told: RunResult, state: PublicState, lines: list[bytes]) -> PublicState:
    chain = state.chain
    for line in lines:
        chain = log_chain.chain_hash(chain, line)
    mark = log_chain.close_line(told.board.agreement, told.board.identity, state.phase, chain)
    return verifier.step(state, [*lines, mark])


@QUICK
@given(data=st.data(), chapter=st.integers(0, 8), place=st.integers(0, 4))
def test_a_signed_message_that_says_anything_is_at_worst_its_authors_loss(
    told: RunResult, data: st.DataObject, chapter: int, place: int
) -> None:
    anything_is_said(told, data, chapter, place)


@settings(QUICK, max_examples=40)
@given(data=st.data(), place=st.integers(0, 4))
def test_the_same_of_messages_about_vectors(vectors: RunResult, data: st.DataObject, place: int) -> None:
    anything_is_said(vectors, data, 2, place)


def anything_is_said(told: RunResult, data: st.DataObject, chapter: int, place: int) -> None:
    state, one = told.states[chapter], told.parties[place]
    if state.phase not in one.sent:
        return
    body = strange(data, json.loads(one.sent[state.phase])["body"])
    try:
        line = wire.sign_message(one.agreement, one.identity, state.phase, state.head, body)
    except ValueError:  # no JSON at all: infinities
        return
    lines = [line if entry == one.sent[state.phase] else entry for entry in told.board.chapters[chapter][:-1]]
    after = refolded(told, state, lines)
    assert after.abort is None
    assert all(named.party in {place, 5, 6} for named in after.named)
    for other in told.parties:
        party.step(other, after)


def strange(data: st.DataObject, body: dict[str, Any]) -> dict[str, Any]:
    name = data.draw(st.sampled_from(sorted(body)))
    kind = data.draw(st.sampled_from(["json", "bytes", "missing", "extra", "short"]))
    if kind == "json":
        return {**body, name: data.draw(JSON)}
    if kind == "missing":
        return {key: value for key, value in body.items() if key != name}
    if kind == "extra":
        return {**body, data.draw(st.text(max_size=5)): data.draw(JSON)}
    text = body[name] if isinstance(body[name], str) else ""
    if kind == "short":
        return {**body, name: text[:-4]}
    raw = bytearray(wire.unpack(text))
    for _ in range(data.draw(st.integers(1, 3))):
        if raw:
            raw[data.draw(st.integers(0, len(raw) - 1))] ^= data.draw(st.integers(1, 255))
    return {**body, name: wire.pack(bytes(raw))}


@QUICK
@given(line=st.binary(max_size=400) | st.text(max_size=200).map(str.encode))
def test_parsing_gives_a_message_or_a_code(told: RunResult, line: bytes) -> None:
    for parse in (wire.parse_message, log_chain.parse_close):
        with pytest.raises(Refused):
            parse(told.board.agreement, line)


@pytest.mark.parametrize("line", [None, 7, "text", [], b"[" * 100_000, b'{"a":' * 50_000, b"9" * 10_000, b"NaN"])
def test_what_is_not_even_a_line_is_refused(told: RunResult, line: object) -> None:
    with pytest.raises(Refused):
        wire.parse_message(told.board.agreement, line)
    state, reply = board.step(board_at(told, 0), Post(line))  # type: ignore[arg-type]
    assert not reply.taken and len(state.posted) == 0
    assert verifier.step(told.states[0], [line]).abort is not None  # type: ignore[list-item]


@pytest.mark.parametrize("phase", wire.PHASES)
def test_a_message_above_its_phases_limit_is_refused(told: RunResult, phase: str) -> None:
    agreed, one = told.board.agreement, told.parties[0].identity
    for length, fault in ((wire.message_limit(agreed, phase), Fault.OVERSIZED), (1 << 24, Fault.OVERSIZED)):
        line = wire.sign_message(agreed, one, phase, b"" if phase == "join" else bytes(96), {"x": "A" * length})
        with pytest.raises(Refused) as refused:
            wire.parse_message(agreed, line)
        assert refused.value.fault is fault


def test_there_is_one_spelling_of_a_message(told: RunResult) -> None:
    line = told.parties[0].sent["join"]
    document = json.loads(line)
    others = [
        json.dumps(document).encode(),
        json.dumps(document, separators=(",", ":")).encode()[::-1][::-1] + b"\n",
        line.replace(b'"party":0', b'"party":0.0'),
        line.replace(b'"party":0', b'"party":-0'),
        line.replace(b'"party":0', b'"party":false'),
        line.replace(b'"body"', b'"\\u0062ody"'),
        line[:-1] + b',"sig":""}',
    ]
    for other in others:
        with pytest.raises(Refused):
            wire.parse_message(told.board.agreement, other)
    assert wire.parse_message(told.board.agreement, line).party == 0


@QUICK
@given(data=st.data())
def test_a_log_of_any_lines_is_read_or_refused(told: RunResult, data: st.DataObject) -> None:
    head = data.draw(st.sampled_from([told.log[0], b"{}", b""]) | st.binary(max_size=40))
    lines = data.draw(st.lists(st.sampled_from(lines_of(told)) | st.binary(max_size=40), max_size=4))
    try:
        found = certificate.verify([head, *lines])
    except HubbubError:
        return
    assert not found.complete


def test_a_board_that_is_shut_for_ever_refuses_and_does_not_raise(told: RunResult) -> None:
    state = board.open_board(told.board.agreement, told.board.identity)
    for _ in range(200):
        state, reply = board.step(state, Shut())
    assert not reply.taken and reply.fault is Fault.WRONG_PHASE


def test_adding_to_an_old_board_leaves_the_newer_one_alone(told: RunResult) -> None:
    empty = board_at(told, 0)
    first, _ = board.step(empty, Post(told.parties[0].sent["join"]))
    second, _ = board.step(empty, Post(told.parties[1].sent["join"]))
    third, _ = board.step(first, Post(told.parties[2].sent["join"]))
    assert len(empty.posted) == 0
    assert first.posted.parties() == {0} and second.posted.parties() == {1} and third.posted.parties() == {0, 2}
    assert first.waiting == set(range(1, 7))
