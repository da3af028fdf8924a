"""What all parties agree on before a run: one JSON text, whose hash is the run's name.

Every message carries that hash under its author's signature. Whoever was shown another roster, another epsilon or
another board key is in another run, and nobody of this one takes its messages.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import math
import re
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, Self

from hubbub.durable import canonical_json
from hubbub.gopa.crypto.proof_shape import MOST, ProofShape
from hubbub.gopa.privacy.calibration import RunPlan
from hubbub.gopa.privacy.sensitivity import Sensitivity
from hubbub.gopa.protocol.identities import Member, fingerprint
from hubbub.terms import (
    ApproximateStep,
    EmptyInput,
    HubbubError,
    Neighbours,
    NewerFormat,
    OutOfRange,
    ReversedBounds,
    Unit,
    Unreadable,
    plain_text,
    stored_keys,
)

VERSION = 1
_LONGEST = 1 << 24
_SALT = 16  # bytes
_LARGEST = 100  # epsilon: beyond it nothing is promised that anybody would call privacy
_MOST_STEPS_IN_A_BALL = 1 << 32  # their square is proved to be in range
_FARTHEST = 1 << 12  # steps, for vectors of bounded norm: all shorter shifts are looked at
_FRACTION = re.compile(r"-?\d{1,400}(/\d{1,400})?")  # as str() writes them: an exponent could ask for all memory
_FLOAT = re.compile(r"-?\d{1,20}(\.\d{1,20})?(e-?\d{1,3})?|inf")


@dataclass(frozen=True)
class Quantity:
    """What is averaged: ``coordinates`` numbers from ``lower`` to ``upper`` per party, each on a grid of steps.

    ``one_hot``: exactly one coordinate is one step and all others are zero, and every party proves it. ``ball``: the
    vector lies within half the range of the middle, in L2 (sum of (2v - steps)^2 at most steps^2), and every party
    proves it.
    """

    name: str = "mean"
    coordinates: int = 1
    lower: Fraction = Fraction(0)
    upper: Fraction = Fraction(1)
    one_hot: bool = False
    ball: bool = False

    def __post_init__(self) -> None:
        plain_text(self.name, name="the quantity's name")
        if type(self.coordinates) is not int or not 1 <= self.coordinates <= 4096:
            raise OutOfRange(
                "a quantity has 1 to 4096 coordinates.",
                why="Each of them is committed to and proved.",
                fix="Average fewer numbers at once.",
            )
        if not self.lower < self.upper:
            raise ReversedBounds(
                f"the quantity {self.name!r} goes from {self.lower} to {self.upper}.",
                why="A range has a lower end below its upper end.",
                fix="Swap them, or widen the range.",
            )

    def mean(self, total: int, *, parties: int, plan: RunPlan) -> Fraction:
        """The average of one coordinate from the sum of all values and noises; each noise has mean noise_bits / 2."""
        centred = total - Fraction(parties * plan.noise_bits, 2)
        return self.lower + (self.upper - self.lower) * centred / (plan.steps * parties)


@dataclass(frozen=True)
class Agreement:
    """Who takes part, what is averaged, with which numbers, over whose board.

    ``previous`` is the run (its 32-byte name) whose inputs the parties prove to use again. ``salt`` makes every
    agreement another one: a second run of the same people takes no message of the first.
    """

    roster: tuple[Member, ...]
    board: bytes
    plan: RunPlan
    quantity: Quantity = Quantity()
    title: str = ""
    previous: bytes | None = None
    salt: bytes = dataclasses.field(default_factory=lambda: secrets.token_bytes(_SALT))

    def __post_init__(self) -> None:
        plain_text(self.title, name="title")
        _check_roster(self.roster, self.board)
        _check_numbers(self.plan, len(self.roster))
        _check_sensitivity(self.plan.sensitivity, self.quantity)
        if self.quantity.one_hot and self.plan.steps != 1:
            raise OutOfRange(
                "a one-hot vector has one step.",
                why="Its coordinates are 0 or 1.",
                fix="Plan with steps=1.",
            )
        _check_size(self)

    @cached_property
    def run(self) -> bytes:
        """The name of the run: the hash of all this."""
        return hashlib.sha256(b"hubbub gopa agreement\n" + self.text().encode()).digest()

    @cached_property
    def shape(self) -> ProofShape:
        """What each party's proof covers."""
        return ProofShape(self.quantity.coordinates, self.plan.steps, self.plan.noise_bits)

    @cached_property
    def _places(self) -> dict[Member, int]:
        return {member: place for place, member in enumerate(self.roster)}

    @property
    def fingerprint(self) -> str:
        """The fingerprint of all keys on the roster together."""
        return fingerprint(*(member.key for member in self.roster))

    @property
    def whole(self) -> bool:
        """Whether all that a party has is protected at once; else a part of it, as small as the sensitivity says."""
        return self.plan.sensitivity.share == 1

    @property
    def event(self) -> ApproximateStep:
        """What taking part costs each party, for its own ledger: to be charged before its reveal leaves.

        It says what it protects (the party, or a row of what it has) and how many must be honest for that.
        """
        return self.step(self.plan.epsilon, self.plan.delta)

    def step(self, epsilon: Fraction, delta: Fraction) -> ApproximateStep:
        """Something of this run that costs so much."""
        run_plan = self.plan
        part = "" if self.whole else f", parts of {run_plan.sensitivity.share}"
        return ApproximateStep(
            mechanism=f"gopa ({run_plan.parties - run_plan.corrupted} of {run_plan.parties} honest{part})",
            epsilon=epsilon,
            delta=delta,
            neighbours=Neighbours.REPLACE,
            unit=Unit("party") if self.whole else Unit(),
        )

    def place(self, member: Member) -> int:
        """Where somebody stands on the roster."""
        place = self._places.get(member)
        if place is None:
            raise OutOfRange(
                f"{member.name} with this key is not on the roster.",
                why="Only those who were agreed on can take part.",
                fix="Use the key that was registered, or make a new agreement.",
            )
        return place

    def text(self) -> str:
        """The one text of this agreement."""
        return canonical_json(
            {
                "board": self.board.hex(),
                "hubbub": f"gopa-agreement/{VERSION}",
                "plan": _write_value(self.plan),
                "previous": self.previous.hex() if self.previous else None,
                "quantity": _write_value(self.quantity),
                "roster": [[member.name, member.key.hex()] for member in self.roster],
                "salt": self.salt.hex(),
                "title": self.title,
            }
        )

    @classmethod
    def read(cls, text: str) -> Self:
        """The agreement that a text is; refused unless it is the text's one spelling.

        >>> from hubbub.gopa.privacy.calibration import plan
        >>> from hubbub.gopa.protocol.identities import Identity
        >>> people = [Identity.new(name) for name in ("ann", "bob", "cat", "dan", "eve")]
        >>> board = Identity.new("board").member.key
        >>> made = Agreement(tuple(one.member for one in people), board, plan(1, 1e-6, 5, honest=0.8, dropouts=0))
        >>> Agreement.read(made.text()) == made
        True
        """
        try:
            document = json.loads(text) if isinstance(text, str) and len(text) <= _LONGEST else None
            _check_version(document)
            agreement = cls._of(document)
            if agreement.text() == text:
                return agreement
        except NewerFormat:
            raise
        except (HubbubError, ValueError, TypeError, KeyError, AttributeError, RecursionError, ZeroDivisionError):
            pass
        raise Unreadable(
            "this is not an agreement.",
            why="Its fields, numbers or spelling are not those that the parties would sign.",
            fix="Ask for the file again, as it was made.",
        )

    @classmethod
    def _of(cls, document: Any) -> Self:
        return cls(
            roster=tuple(Member(name, bytes.fromhex(key)) for name, key in document["roster"]),
            board=bytes.fromhex(document["board"]),
            plan=_read_value(RunPlan, document["plan"]),
            quantity=_read_value(Quantity, document["quantity"]),
            title=document["title"],
            previous=None if document["previous"] is None else bytes.fromhex(document["previous"]),
            salt=bytes.fromhex(document["salt"]),
        )


# ---------------------------------------------------------------- what cannot be agreed on


def _check_roster(roster: tuple[Member, ...], board: bytes) -> None:
    names, keys = {one.name for one in roster}, {one.key for one in roster}
    if not roster:
        raise EmptyInput("nobody is on the roster.", why="An average needs parties.", fix="Name them.")
    if len(names) < len(roster) or len(keys) < len(roster) or board in keys:
        raise OutOfRange(
            "a name or a key is on the roster twice, or the board's key is one of them.",
            why="One person with two places would count, and vote, twice.",
            fix="Register every party once, with a key of its own.",
        )
    Member("board", board)


def _check_numbers(plan: RunPlan, parties: int) -> None:
    """The inequalities on which the safety of a cut rests: whoever joins checks them, whoever made the plan."""
    two_cuts = 2 * plan.quorum <= plan.parties + plan.corrupted
    if plan.parties != parties or two_cuts or not plan.quorum <= plan.survivors <= parties or plan.corrupted < 0:
        raise OutOfRange(
            "the plan's numbers do not fit the roster or each other.",
            why="Two cuts could both be signed unless twice the quorum is above parties plus corrupted, and a quorum "
            "must be among the survivors.",
            fix="Make the plan with hubbub.gopa.plan for exactly these parties.",
        )
    if not (0 < plan.epsilon <= _LARGEST and 0 < plan.delta < 1 and 0 <= plan.share_threshold < 1):
        raise OutOfRange(
            "the plan promises nothing.",
            why=f"Epsilon lies between 0 and {_LARGEST}, and delta and the threshold's share between 0 and 1.",
            fix="Make the plan with hubbub.gopa.plan.",
        )
    if plan.degree < 1 or plan.noise_bits < 1 or plan.threshold(plan.degree) > plan.degree:
        raise OutOfRange(
            "the plan has no noise, no neighbours, or a threshold above their number.",
            why="Then nothing hides a value, or nobody could repair a dropout.",
            fix="Make the plan with hubbub.gopa.plan.",
        )


def _check_sensitivity(moved: Sensitivity, quantity: Quantity) -> None:
    """The noise must be planned for at least what this quantity lets one party move."""
    if moved.kind != "range" and moved.coordinates != quantity.coordinates:
        raise OutOfRange(
            f"the plan is for {moved.coordinates} coordinates and the quantity has {quantity.coordinates}.",
            why="Noise that was reckoned for fewer coordinates hides less than it says.",
            fix="Plan with the sensitivity of this quantity.",
        )
    if quantity.ball and moved.kind == "norm" and moved.share < 1:
        raise OutOfRange(
            f"the plan's noise is for {moved.share} of the diameter of a ball.",
            why="Numbers in a ball are rounded towards its middle, and then a small move can become a step in each "
            "coordinate: only the whole diameter bounds it.",
            fix="Plan with share=1, or average over people with hubbub.gopa.Subjects, which counts the rounding in.",
        )
    proved = {"range": moved.coordinates >= quantity.coordinates, "one-hot": quantity.one_hot, "norm": quantity.ball}
    if not proved[moved.kind] and (moved.kind == "range" or moved.share == 1):
        raise OutOfRange(
            f"the plan's noise is for a sensitivity of kind {moved.kind}, and the quantity allows more.",
            why="A party could then move the result further than the noise hides.",
            fix="Plan with the sensitivity of this quantity, or declare it one_hot or in a ball.",
        )


def _check_size(agreed: Agreement) -> None:
    """What no party could work out in time is refused before anybody joins."""
    moved, shape = agreed.plan.sensitivity, agreed.shape  # the shape refuses proofs that are too long
    far = moved.kind == "norm" and math.isqrt(moved.squared(shape.steps)) > _FARTHEST
    large = agreed.quantity.ball and shape.steps > _MOST_STEPS_IN_A_BALL
    if far or large or moved.coordinates > MOST or len(agreed.salt) != _SALT:
        raise OutOfRange(
            f"one unit moves a norm by more than {_FARTHEST:,} steps, there are more than {MOST:,} coordinates or "
            f"{_MOST_STEPS_IN_A_BALL:,} steps in a ball, or the salt has another length.",
            why="Its privacy or its proofs could not be worked out.",
            fix="Plan with a coarser grid or fewer coordinates.",
        )


def _check_version(document: Any) -> None:
    name, _, version = str(document["hubbub"]).partition("/")
    if name == "gopa-agreement" and version.isdigit() and int(version) > VERSION:
        raise NewerFormat(
            f"this agreement has format {version}; this version of Hubbub reads up to {VERSION}.",
            why="A newer format may mean something that an older reader would get wrong.",
            fix="Install a newer Hubbub.",
        )


# ---------------------------------------------------------------- numbers as text


def _write_value(value: Any) -> Any:
    """JSON without fractions: whole numbers as they are, all others as texts."""
    if type(value) in _KEYS:
        keys = _KEYS[type(value)]
        return {key: _write_value(getattr(value, attribute)) for key, attribute in keys.items()}
    if value is None or isinstance(value, bool | int | str):
        return value
    return str(value) if isinstance(value, Fraction) else float.__repr__(value)


def _read_value(kind: type[Any], document: Mapping[str, Any]) -> Any:
    keys, readers = _KEYS[kind], _READERS[kind]
    if document.keys() != keys.keys():
        raise ValueError
    return kind(**{keys[key]: readers[key](given) for key, given in document.items()})


def _plain_reader(wanted: type[Any]) -> Callable[[Any], Any]:
    def read(given: Any) -> Any:
        if type(given) is not wanted:
            raise TypeError
        return given

    return read


def _text_reader(spelling: re.Pattern[str], number: Callable[[str], Any]) -> Callable[[Any], Any]:
    def read(given: Any) -> Any:
        if not isinstance(given, str) or not spelling.fullmatch(given):
            raise TypeError
        return number(given)

    return read


_fraction, _float = _text_reader(_FRACTION, Fraction), _text_reader(_FLOAT, float)
_whole, _truth, _word = _plain_reader(int), _plain_reader(bool), _plain_reader(str)

# The hash of an agreement is its run's name, so these keys never change; fields and classes may. ``neighbours`` is what
# is written for the degree of the graph.
_READERS: dict[type[Any], dict[str, Callable[[Any], Any]]] = {
    Quantity: {
        "name": _word,
        "coordinates": _whole,
        "lower": _fraction,
        "upper": _fraction,
        "one_hot": _truth,
        "ball": _truth,
    },
    Sensitivity: {"kind": _word, "coordinates": _whole, "share": _fraction},
    RunPlan: {
        "parties": _whole,
        "steps": _whole,
        "noise_bits": _whole,
        "neighbours": _whole,
        "share_threshold": _fraction,
        "quorum": _whole,
        "survivors": _whole,
        "corrupted": _whole,
        "epsilon": _fraction,
        "delta": _fraction,
        "delta_noise": _float,
        "delta_graph": _float,
        "sensitivity": lambda given: _read_value(Sensitivity, given),
        "stuck": _float,
    },
}
_KEYS: dict[type[Any], dict[str, str]] = {
    Quantity: stored_keys("name coordinates lower upper one_hot ball"),
    Sensitivity: stored_keys("kind coordinates share"),
    RunPlan: stored_keys(
        "parties steps noise_bits neighbours share_threshold quorum survivors corrupted epsilon delta delta_noise "
        "delta_graph sensitivity stuck",
        neighbours="degree",
    ),
}
