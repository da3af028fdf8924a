"""An agreement in plain words, for whoever is asked to take part: whom it protects, how well, and what leaves."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from hubbub.explain import Document, Section, TextTable
from hubbub.gopa.network.attempts import graph_failure_chance
from hubbub.gopa.privacy.calibration import Achieved, achieved
from hubbub.gopa.protocol.agreement import Agreement
from hubbub.gopa.protocol.identities import fingerprint
from hubbub.render import Json, short

SHOWN = 20


@dataclass(frozen=True, slots=True, eq=False)
class Notice(Document):
    """What an agreement asks of a party, by the reader's own reckoning.

    Nothing that the agreement says of its own privacy is taken on trust: delta is worked out from noise, roster and
    thresholds.
    """

    agreement: Agreement

    @property
    def title(self) -> str:
        """Which run."""
        agreed = self.agreement
        return f"{agreed.title or agreed.quantity.name}: an agreement of {len(agreed.roster):,} parties"

    @property
    def reached(self) -> Achieved:
        """What a run with as few survivors as agreed protects."""
        return achieved(self.agreement.plan, self.agreement.plan.survivors)

    @property
    def sound(self) -> bool:
        """Whether the numbers give the privacy that they promise."""
        return self.reached.enough

    def sections(self) -> tuple[Section, ...]:
        """The agreement, part by part."""
        agreed = self.agreement
        return (
            Section("Who is protected", (protection_words(agreed), self._delta())),
            Section("What that relies on", (relied_on(agreed), *self._drawing())),
            Section("What leaves your machine", self._leaves()),
            Section("Who takes part", self._people(), fingerprint_table(agreed)),
            Section("To compare with others", (self._marks(),)),
        )

    # ------------------------------------------------ sentences

    def _delta(self) -> str:
        run_plan = self.agreement.plan
        if not self.sound:
            return (
                f"This plan does not keep its word: it says epsilon = {short(run_plan.epsilon)} and delta = "
                f"{short(run_plan.delta)}, and its noise gives delta = {self.reached.delta:.1e}. Take no part in it."
            )
        return (
            f"Worked out anew from the plan's noise: delta = {self.reached.delta:.1e} or less, and agreed was "
            f"{short(run_plan.delta)}."
        )

    def _drawing(self) -> tuple[str, ...]:
        chance = self._chance()
        if not chance:
            return ()
        return (
            f"Each drawing of who shares masks with whom fails with a chance of {float(chance):.1e}, which is part of "
            "delta. A run that ends after it costs as much, for the next one draws again.",
        )

    def _chance(self) -> Fraction:
        return graph_failure_chance(self.agreement, self.agreement.plan.parties)

    def _leaves(self) -> tuple[str, ...]:
        agreed, run_plan = self.agreement, self.agreement.plan
        many = "one number" if agreed.quantity.coordinates == 1 else f"{agreed.quantity.coordinates} numbers"
        again = (
            f" The same numbers as in run {agreed.previous.hex()} are used again, with new noise: it costs again."
            if agreed.previous
            else ""
        )
        return (
            f"Of {many} between {short(agreed.quantity.lower)} and {short(agreed.quantity.upper)}"
            f"{_quantity_words(agreed)}: commitments, proofs that they are in range, sealed shares of masks, "
            "and at the end each "
            f"with {run_plan.noise_bits:,} coins of noise and masks added, which look random. The sum over at least "
            f"{run_plan.survivors:,} parties becomes public.{again}",
            "Who takes part, when, and who falls silent is public.",
        )

    def _people(self) -> tuple[str, ...]:
        return (
            "One person with two of these keys would count twice. Compare the fingerprints with their owners, not with "
            "whoever sent the file.",
        )

    def _marks(self) -> str:
        agreed = self.agreement
        return (
            f"Run {agreed.run.hex()}. All keys together: {agreed.fingerprint}. The board's key: "
            f"{fingerprint(agreed.board)}."
        )

    # ------------------------------------------------ for programs

    def to_json(self) -> dict[str, Json]:
        """The agreement as one JSON document."""
        agreed, run_plan = self.agreement, self.agreement.plan
        return {
            "kind": "gopa-notice",
            "run": agreed.run.hex(),
            "title": agreed.title,
            "sound": self.sound,
            "epsilon": float(run_plan.epsilon),
            "delta": float(run_plan.delta),
            "delta_reckoned": self.reached.delta,
            "delta_of_each_drawing": float(self._chance()),
            "previous": agreed.previous.hex() if agreed.previous else None,
            "quantity": {
                "name": agreed.quantity.name,
                "coordinates": agreed.quantity.coordinates,
                "lower": str(agreed.quantity.lower),
                "upper": str(agreed.quantity.upper),
                "one_hot": agreed.quantity.one_hot,
                "ball": agreed.quantity.ball,
            },
            **terms_of(agreed),
        }


# ---------------------------------------------------------------- what a certificate says too


def protection_words(agreed: Agreement, epsilon: Fraction | None = None) -> str:
    """Whom a run protects, and how well."""
    cost = agreed.plan.epsilon if epsilon is None else epsilon
    odds = f"the odds that anybody works out move at most {math.exp(cost):.3g}-fold (epsilon = {short(cost)})"
    if agreed.whole:
        return f"All that one party has: whatever its value was, {odds}."
    share = agreed.plan.sensitivity.share
    return (
        f"One part of what a party has, such as one of its people, as long as that part moves its numbers by at most "
        f"{share} of their range: whatever the part was, {odds}. A party's value as a whole is NOT protected to that "
        "degree: it may be told nearly exactly."
    )


def relied_on(agreed: Agreement) -> str:
    """Who must be honest for it."""
    run_plan = agreed.plan
    return (
        f"That holds while at most {run_plan.corrupted:,} of the {run_plan.parties:,} work together against "
        "the others, with "
        f"the board or without: {run_plan.parties - run_plan.corrupted:,} must keep their secrets."
    )


def terms_of(agreed: Agreement) -> dict[str, Json]:
    """Unit, honest share and keys, as data."""
    run_plan = agreed.plan
    return {
        "unit": {"protects": "party" if agreed.whole else "part", "share": str(run_plan.sensitivity.share)},
        "honest": {
            "at_least": run_plan.parties - run_plan.corrupted,
            "of": run_plan.parties,
            "share": (run_plan.parties - run_plan.corrupted) / run_plan.parties,
        },
        "keys": [
            {"name": one.name, "key": one.key.hex(), "fingerprint": fingerprint(one.key)} for one in agreed.roster
        ],
        "board": {"key": agreed.board.hex(), "fingerprint": fingerprint(agreed.board)},
        "roster_fingerprint": agreed.fingerprint,
    }


def fingerprint_table(agreed: Agreement) -> TextTable:
    """The first names on the roster, with the fingerprints of their keys."""
    members = agreed.roster
    rows = [(one.name, fingerprint(one.key)) for one in members[:SHOWN]]
    if len(members) > SHOWN:
        rows.append((f"and {len(members) - SHOWN:,} more", ""))
    return TextTable(("party", "fingerprint of its key"), tuple(rows))


def _quantity_words(agreed: Agreement) -> str:
    if agreed.quantity.one_hot:
        return " (a choice: one of them is 1)"
    return " (a vector in a ball)" if agreed.quantity.ball else ""
