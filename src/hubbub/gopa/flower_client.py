"""GOPA inside a Flower client: a mod that trains, checks what the server proposes, and takes part in the run."""

from __future__ import annotations

import hashlib
import importlib
import math
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Generic, TypeVar

from hubbub.gopa import party as parties
from hubbub.gopa import public
from hubbub.gopa.agreement import Agreement
from hubbub.gopa.certificate import chapters
from hubbub.gopa.charges import charging
from hubbub.gopa.gradients import Gradient
from hubbub.gopa.identities import Identity
from hubbub.gopa.party import Party
from hubbub.gopa.public import Public
from hubbub.terms import MissingExtra, OutOfRange, fraction_of, positive

RECORD = "hubbub.gopa"  # the name of our records in Flower's messages
_KEPT = 1024
Kept = TypeVar("Kept")


@dataclass(frozen=True)
class Flower:
    """The parts of Flower that are used."""

    app: Any
    common: Any
    compat: Any


def installed() -> Flower:
    """Flower, or what is missing."""
    try:
        return Flower(
            importlib.import_module("flwr.app"),
            importlib.import_module("flwr.common"),
            importlib.import_module("flwr.compat.common.recorddict_compat"),
        )
    except ImportError:
        raise MissingExtra(
            "the package flwr is not installed.",
            why="GOPA takes the place of its secure aggregation.",
            fix="pip install flwr, in the environment of your Flower app.",
        ) from None


Mod = Callable[[Any, Any, Callable[[Any, Any], Any]], Any]


def mod(
    identity: Identity | Callable[[Any], Identity],
    *,
    known: Mapping[str, bytes],
    norm: object,
    epsilon: object,
    delta: object,
    honest: object = Fraction(1, 2),
    account: Callable[[Any], object] | None = None,
) -> Mod:
    """What a client does with messages of training; all others it hands on.

    ``identity`` is the client's own, or a function of Flower's context; ``known`` are the names and keys of all clients
    that were registered; ``epsilon`` and ``delta`` are the most of one round and ``honest`` the largest share of honest
    clients that this one will rely on. ``account`` is a function of the context too: rounds are charged to it.

    Guarantee: nothing of the training leaves but messages of a run that this client checked: everybody on the roster is
    known, it is the mean of vectors of at most ``norm``, and as private as was asked for.
    Because: docs/proofs/gopa.md, "The protocol" [BIK17].
    Not covered: a client app that sends more in other messages.
    """
    limits = _Limits(known, positive(epsilon, name="epsilon"), fraction_of(delta, name="delta"), norm, honest)

    def handle(message: Any, context: Any, call_next: Callable[[Any, Any], Any]) -> Any:
        asked = message.content.config_records.get(RECORD)
        if message.metadata.message_type != "train":
            return call_next(message, context)
        app = installed().app
        who = identity if isinstance(identity, Identity) else identity(context)
        if asked is None:
            raise OutOfRange(
                "this round of training is not a run of GOPA.",
                why="An update in the clear would show what the client has.",
                fix="Use hubbub.gopa.flower.Workflow on the server.",
            )
        client = _Client(who, limits, context, account)
        answer = client.answer(asked, lambda: _update(call_next, message, context))
        return app.Message(app.RecordDict({RECORD: app.ConfigRecord(answer)}), reply_to=message)

    return handle


@dataclass(frozen=True)
class _Limits:
    """What a client takes part in."""

    known: Mapping[str, bytes]
    epsilon: Fraction
    delta: Fraction
    norm: object
    honest: object

    def check(self, agreed: Agreement, width: int) -> Gradient:
        """The measure of an agreement, or a refusal."""
        of, made = Gradient(width, self.norm), agreed.plan
        strangers = [one for one in agreed.roster if self.known.get(one.name) != one.key]
        relied = math.ceil(fraction_of(self.honest, name="honest", one=True) * made.parties)
        weak = made.epsilon > self.epsilon or made.delta > self.delta or made.parties - made.corrupted > relied
        if strangers or weak or (agreed.quantity, made.sensitivity) != (of.quantity, of.sensitivity):
            raise OutOfRange(
                "the server proposes a run that this client takes no part in.",
                why="It has strangers on its roster, is less private than asked for, or averages something else.",
                fix="Give server and clients the same roster, norm, epsilon, delta and honest share.",
            )
        return of


@dataclass(frozen=True)
class _Client:
    """One client while it answers; what it must remember is in Flower's context."""

    identity: Identity
    limits: _Limits
    context: Any
    account: Callable[[Any], object] | None

    def answer(self, asked: Any, train: Callable[[], list[float]]) -> dict[str, Any]:
        if asked["stage"] == "member":
            return {"name": self.identity.name, "key": self.identity.member.key}
        if asked["stage"] == "join":
            agreed, log = Agreement.read(str(asked["agreement"])), []
            update = train()
            of = self.limits.check(agreed, len(update))
            party = parties.start(agreed, self.identity, of.encode(update, agreed))
        else:
            kept = self.context.state.config_records[RECORD]
            agreed, log = Agreement.read(str(kept["agreement"])), [*kept["log"], *asked["lines"]]
            party = _resumed(agreed, self.identity, kept["records"])
        party, lines = parties.step(party, _folded(agreed, log))
        if lines and asked["stage"] == "reveal" and self.account is not None:
            charging(self.account(self.context), agreed, self.identity.member)(party, lines[0])
        self._keep(party, log)
        return {"line": lines[0] if lines else b""}

    def _keep(self, party: Party, log: list[bytes]) -> None:
        records = installed().app.ConfigRecord(
            {"agreement": party.agreement.text(), "log": log, "records": list(party.records)}
        )
        self.context.state.config_records[RECORD] = records
        _PARTIES.put(_digest(party.records), party)


def _update(call_next: Callable[[Any, Any], Any], message: Any, context: Any) -> list[float]:
    """How training moves the model: all its numbers, in their order."""
    common, compat = installed().common, installed().compat
    del message.content.config_records[RECORD]
    start = common.parameters_to_ndarrays(compat.recorddict_to_fitins(message.content, True).parameters)
    reply = call_next(message, context)
    end = common.parameters_to_ndarrays(compat.recorddict_to_fitres(reply.content, True).parameters)
    return [float(x) for old, new in zip(start, end, strict=True) for x in (new - old).ravel()]


# ---------------------------------------------------------------- what need not be worked out again


class _Cache(Generic[Kept]):
    """The newest few of some values; whatever is not here is worked out from what the context keeps."""

    def __init__(self) -> None:
        self._kept: OrderedDict[bytes, Kept] = OrderedDict()

    def get(self, key: bytes) -> Kept | None:
        return self._kept.get(key)

    def put(self, key: bytes, value: Kept) -> Kept:
        self._kept[key] = value
        while len(self._kept) > _KEPT:
            self._kept.popitem(last=False)
        return value


_PARTIES: _Cache[Party] = _Cache()
_STATES: _Cache[Public] = _Cache()


def _digest(lines: Sequence[bytes]) -> bytes:
    return hashlib.sha256(b"".join(hashlib.sha256(line).digest() for line in lines)).digest()


def _resumed(agreed: Agreement, identity: Identity, records: Sequence[bytes]) -> Party:
    kept = _PARTIES.get(_digest(records))
    return kept if kept is not None else parties.resume(agreed, identity, records)


def _folded(agreed: Agreement, log: Sequence[bytes]) -> Public:
    """The public state after these lines; clients of one process fold a log once."""
    state, seen = public.start(agreed), [agreed.run]
    for chapter in chapters(log):
        seen += chapter
        key = _digest(seen)
        state = _STATES.get(key) or _STATES.put(key, public.step(state, chapter))
    return state
