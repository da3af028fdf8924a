"""GOPA inside a Flower client: a mod that trains, checks what the server proposes, and takes part in the run."""

from __future__ import annotations

import hashlib
import importlib
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Generic, TypeVar

from hubbub.gopa.network.attempts import Attempts
from hubbub.gopa.network.reveal_charge import charge_from
from hubbub.gopa.protocol import party as parties
from hubbub.gopa.protocol import verifier
from hubbub.gopa.protocol.agreement import Agreement
from hubbub.gopa.protocol.certificate import split_phases
from hubbub.gopa.protocol.consent import Consent
from hubbub.gopa.protocol.identities import Identity
from hubbub.gopa.protocol.party import Party
from hubbub.gopa.protocol.public_state import PublicState
from hubbub.gopa.quantities.bounded_vectors import Gradient
from hubbub.ledger import AccountLike
from hubbub.terms import BeyondConsent, MissingExtra, OutOfRange, Real, WrongShape, whole

RECORD = "hubbub.gopa"  # the name of our records in Flower's messages
RUNS = "hubbub.gopa.runs"  # in which runs a client has shown its nonce, and in which it revealed
_KEPT = 1024
Kept = TypeVar("Kept")


@dataclass(frozen=True)
class Flower:
    """The parts of Flower that are used."""

    app: Any
    common: Any
    compat: Any


def require_flower() -> Flower:
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
    norm: Real,
    epsilon: Real,
    delta: Real,
    honest: Real = Fraction(1, 2),
    rounds: int | None = None,
    account: Callable[[Any], AccountLike] | None = None,
) -> Mod:
    """What a client does with messages of training; all others it hands on.

    ``identity`` is the client's own, or a function of Flower's context; ``known`` are the names and keys of all clients
    that were registered, and ``honest`` is the largest share of *them* that this one relies on: a server that invites a
    part of them may have invited all who work with it. ``epsilon`` and ``delta`` are the most of one round, ``rounds``
    is how many it reveals in at most. ``account`` is a function of the context too: rounds are charged to it.

    The client knows from its own record at which phase a run is. Whatever the server calls it, a reveal is charged
    before it leaves.

    Guarantee: nothing of the training leaves but messages of runs that this client consented to: everybody on the
    roster is known, it is the mean of vectors of at most ``norm``, and as private as was asked for.
    Because: docs/proofs/gopa.md, "The protocol" and "What a party takes on trust" [BIK17].
    Not covered: a client app that sends more in other messages; without ``rounds`` or ``account``, more rounds.
    """
    consent = Consent(epsilon=epsilon, delta=delta, honest=honest, roster=known)  # type: ignore[arg-type]  # read exactly
    limits = _Limits(consent, norm, None if rounds is None else whole(rounds, name="rounds"))

    def handle(message: Any, context: Any, call_next: Callable[[Any, Any], Any]) -> Any:
        asked = message.content.config_records.get(RECORD)
        if message.metadata.message_type != "train":
            return call_next(message, context)
        app = require_flower().app
        who = identity if isinstance(identity, Identity) else identity(context)
        if asked is None:
            raise OutOfRange(
                "this round of training is not a run of GOPA.",
                why="An update in the clear would show what the client has.",
                fix="Use hubbub.gopa.network.flower_server.Workflow on the server.",
            )
        client = _Client(who, limits, context, account)
        answer = client.answer(asked, lambda: _train_update(call_next, message, context))
        return app.Message(app.RecordDict({RECORD: app.ConfigRecord(answer)}), reply_to=message)

    return handle


@dataclass(frozen=True)
class _Limits:
    """What a client takes part in."""

    consent: Consent
    norm: object
    rounds: int | None = None

    def open(self, agreed: Agreement, attempts: Attempts) -> None:
        """Refuse what the consent does not cover, before anything is trained."""
        attempts.require(self.consent, agreed)
        if self.rounds is not None and attempts.reveals >= self.rounds:
            raise BeyondConsent(
                f"this client has revealed in {self.rounds} rounds, and consented to no more.",
                why="Each round costs again, whatever the server counts.",
                fix="Register again for more training, with rounds= for all of it.",
            )

    def measure(self, agreed: Agreement, width: int) -> Gradient:
        """What is averaged, or a refusal."""
        of, run_plan = Gradient(width, self.norm), agreed.plan
        if (agreed.quantity, run_plan.sensitivity) != (of.quantity, of.sensitivity):
            raise BeyondConsent(
                "this client takes no part in this run: it averages something else than updates of its norm.",
                why="What is protected, and how far it moves, is for the client to say.",
                fix="Give server and clients the same model and norm.",
            )
        return of


@dataclass(frozen=True)
class _Client:
    """One client while it answers; what it must remember is in Flower's context."""

    identity: Identity
    limits: _Limits
    context: Any
    account: Callable[[Any], AccountLike] | None

    def answer(self, asked: Any, train: Callable[[], list[float]]) -> dict[str, Any]:
        """What leaves the client: who it is, or the one line that its own record says is next.

        The server's word for the stage is not looked at: it could name another one, and have a reveal for nothing.
        """
        if "agreement" not in asked and "lines" not in asked:
            return {"name": self.identity.name, "key": self.identity.member.key}
        party, log = self._seat(asked, train)
        seen = _fold_log(party.agreement, log)
        party, lines = parties.step(party, seen)
        attempts = self._paid(party, seen, lines)
        self._keep(party, log, attempts)
        return {"line": lines[0] if lines else b""}

    def _seat(self, asked: Any, train: Callable[[], list[float]]) -> tuple[Party, list[bytes]]:
        """The party of the run that is under way, or of one that is proposed; and the log as far as it was shown."""
        kept, offered = self._records(RECORD), str(asked["agreement"]) if "agreement" in asked else None
        fresh = [bytes(line) for line in asked.get("lines", [])]
        if offered is not None and (kept is None or offered != kept["agreement"]):
            return self._begun(Agreement.read(offered), train), fresh
        if kept is None:
            raise BeyondConsent(
                "this client has agreed to no run.", why="It joins before it says anything.", fix="Propose one."
            )
        agreed = Agreement.read(str(kept["agreement"]))
        return _resume_party(agreed, self.identity, kept["records"]), [*kept["log"], *fresh]

    def _begun(self, agreed: Agreement, train: Callable[[], list[float]]) -> Party:
        attempts = self._attempts()
        if attempts.has(agreed):
            raise BeyondConsent(
                f"this client has left run {agreed.run.hex()[:16]} for another one.",
                why="Its secrets of that run are gone, and new ones would draw its graph again.",
                fix="Propose a new run.",
            )
        self.limits.open(agreed, attempts)
        update = train()
        of = self.limits.measure(agreed, len(update))
        return parties.start(agreed, self.identity, of.encode(update, agreed), consent=self.limits.consent)

    def _paid(self, party: Party, seen: PublicState, lines: Sequence[bytes]) -> Attempts:
        """The record of attempts once these lines are consented to and paid for."""
        attempts = self._attempts()
        for line in lines:
            after = attempts.after(party, seen, line)
            if after is not attempts:
                self.limits.open(party.agreement, attempts)
            if self.account is not None:
                charge_from(self.account(self.context), party.agreement, self.identity.member)(party, seen, line)
            attempts = after
        return attempts

    def _records(self, name: str) -> Any:
        return self.context.state.config_records.get(name)

    def _attempts(self) -> Attempts:
        kept = self._records(RUNS)
        return Attempts(() if kept is None else tuple(map(str, kept["lines"])))

    def _keep(self, party: Party, log: list[bytes], attempts: Attempts) -> None:
        record, state = require_flower().app.ConfigRecord, self.context.state.config_records
        state[RECORD] = record({"agreement": party.agreement.text(), "log": log, "records": list(party.records)})
        state[RUNS] = record({"lines": list(attempts.lines)})
        _PARTIES.put(_log_digest(party.records), party)


def _train_update(call_next: Callable[[Any, Any], Any], message: Any, context: Any) -> list[float]:
    """How training moves the model: all its numbers, in their order. One that diverged moves it by nothing."""
    import numpy as np

    common, compat = require_flower().common, require_flower().compat
    del message.content.config_records[RECORD]
    start = common.parameters_to_ndarrays(compat.recorddict_to_fitins(message.content, True).parameters)
    reply = call_next(message, context)
    end = common.parameters_to_ndarrays(compat.recorddict_to_fitres(reply.content, True).parameters)
    if [array.shape for array in start] != [array.shape for array in end]:
        raise WrongShape(
            "training gave a model of another shape.", why="Updates are added up.", fix="Keep the model's shape."
        )
    moved = [float(x) for old, new in zip(start, end, strict=True) for x in (new - old).ravel()]
    return moved if np.isfinite(moved).all() else [0.0] * len(moved)  # whether it fails must not depend on rows


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
_STATES: _Cache[PublicState] = _Cache()


def _log_digest(lines: Sequence[bytes]) -> bytes:
    return hashlib.sha256(b"".join(hashlib.sha256(line).digest() for line in lines)).digest()


def _resume_party(agreed: Agreement, identity: Identity, records: Sequence[bytes]) -> Party:
    kept = _PARTIES.get(_log_digest(records))
    return kept if kept is not None else parties.resume(agreed, identity, records)


def _fold_log(agreed: Agreement, log: Sequence[bytes]) -> PublicState:
    """The public state after these lines; clients of one process fold a log once."""
    state, seen = verifier.start(agreed), [agreed.run]
    for chapter in split_phases(log):
        seen += chapter
        key = _log_digest(seen)
        state = _STATES.get(key) or _STATES.put(key, verifier.step(state, chapter))
    return state
