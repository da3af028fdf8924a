"""``average``: a whole run in one process, from people's values to a result with its certificate."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from statistics import NormalDist
from typing import Any

from hubbub import noise
from hubbub.explain import Document, Section, TextTable
from hubbub.gopa import in_process
from hubbub.gopa.crypto.proof_shape import is_list_like
from hubbub.gopa.privacy.calibration import Achieved, RunPlan, achieved
from hubbub.gopa.protocol.agreement import Agreement
from hubbub.gopa.protocol.certificate import Certificate
from hubbub.gopa.protocol.identities import Identity
from hubbub.gopa.quantities.base import PartyInput, RunEstimate
from hubbub.gopa.quantities.numbers import BoundedNumber
from hubbub.render import Json, short
from hubbub.terms import EmptyInput, Real, Unreachable, WrongShape, fraction_of, refuse_masked

_EVERYBODY = BoundedNumber()


@dataclass(frozen=True, slots=True, eq=False)
class Average(Document):
    """What a run published, with its ``log`` and the ``certificate`` of it; neither if the run went without proofs."""

    reading: RunEstimate
    plan: RunPlan
    achieved: Achieved
    parties: tuple[str, ...]
    certificate: Certificate | None
    log: tuple[bytes, ...] = field(default=(), repr=False)

    @property
    def value(self) -> float:
        """The first of the values; the only one if one number was averaged."""
        return self.reading.values[0]

    @property
    def values(self) -> dict[str, float]:
        """All values by their labels."""
        return dict(zip(self.reading.labels, self.reading.values, strict=True))

    @property
    def std_dev(self) -> float:
        """The standard deviation of ``value``."""
        return self.reading.std_devs[0]

    @property
    def title(self) -> str:
        """What is shown."""
        return f"An average among {self.plan.parties:,} parties"

    def interval(self, confidence: Real = 0.95) -> tuple[float, float]:
        """Where the exact ``value`` lies, at that confidence, as far as noise and rounding go."""
        reach = _normal_quantile(confidence) * self.std_dev
        return self.value - reach, self.value + reach

    def sections(self) -> tuple[Section, ...]:
        """The report, part by part."""
        sentences = (
            f"{len(self.parties):,} of {self.plan.parties:,} parties are in it. Each showed one masked number for each "
            "coordinate; the masks cancel in the sum.",
            f"The noise of {self.achieved.honest:,} honest parties makes it epsilon = {short(self.achieved.epsilon)} "
            f"with delta = {self.achieved.delta:.1e}, for {self._unit}.",
            "All parties ran in this process, which saw all values: nobody was protected from it.",
        )
        return (Section("The average", sentences, self._table()),)

    @property
    def _unit(self) -> str:
        share = self.plan.sensitivity.share
        part = f"what moves a party's numbers by at most {share} of their range, and not for a party as a whole"
        return "all that one party has" if share == 1 else part

    def to_json(self) -> dict[str, Json]:
        """The numbers as one JSON document."""
        return {
            "kind": "gopa-average",
            "values": self.values,
            "std_devs": dict(zip(self.reading.labels, self.reading.std_devs, strict=True)),
            "epsilon": float(self.achieved.epsilon),
            "delta": self.achieved.delta,
            "parties": list(self.parties),
            "share": str(self.plan.sensitivity.share),
            "honest": {"at_least": self.plan.parties - self.plan.corrupted, "of": self.plan.parties},
            "proved": self.certificate is not None,
        }

    def _table(self) -> TextTable:
        reach = _normal_quantile(0.95)
        rows = zip(self.reading.labels, self.reading.values, self.reading.std_devs, strict=True)
        return TextTable(("", "value", "95%"), tuple((name, f"{v:.5g}", f"±{reach * s:.2g}") for name, v, s in rows))


def average(
    values: Sequence[Any],
    of: PartyInput = _EVERYBODY,
    *,
    epsilon: Real,
    delta: Real,
    honest: Real = Fraction(1, 2),
    dropouts: Real = Fraction(1, 20),
    names: Sequence[str] | None = None,
    title: str = "",
    proofs: bool = True,
    drops: Mapping[int, str] | None = None,
    cheats: Mapping[int, in_process.Cheat] | None = None,
) -> Average:
    """Average what parties have by a run of GOPA in this process.

    ``values`` has one entry for each party, in the form that ``of`` takes. ``proofs=False`` leaves out messages, masks
    and proofs and publishes what a run without dropouts would: for trying things out, since it is hundreds of times
    faster. ``drops`` and ``cheats`` are scripts for the places on the roster, as for ``together.run``.

    Guarantee: what is returned is (epsilon, delta)-DP for replacing one unit of ``of``, towards all who cannot look
    into this process, even if they know all values and all noise of all but the ``honest`` share of the parties.
    Because: the sum has the noise of ``plan`` [SBR22]: docs/proofs/gopa.md.
    Error: the standard deviations are those of noise and rounding, rounded up.
    Not covered: this process, which sees all values; a ledger, since none is charged.

    >>> told = average([0.2, 0.9, 0.4, 0.8, 0.7, 0.1], epsilon=4, delta=1e-6, honest=0.9, dropouts=0)
    >>> len(told.parties), told.certificate.complete, told.std_dev < 0.5
    (6, True, True)
    """
    refuse_masked(values)
    if not is_list_like(values):
        raise WrongShape("values are not a list.", why="Each party has one entry.", fix="Give a list or an array.")
    if len(values) < 2:
        raise EmptyInput("there are fewer than two parties.", why="One cannot hide alone.", fix="Pass more values.")
    run_plan = of.plan(len(values), epsilon=epsilon, delta=delta, honest=honest, dropouts=dropouts)
    who = people_for_plan(run_plan, of, names=names, title=title)
    steps = [of.encode(value, who.agreement, place=place) for place, value in enumerate(values)]
    return publish_run(who, steps, of, proofs=proofs, drops=drops, cheats=cheats)


def publish_run(
    who: in_process.People,
    steps: Sequence[Sequence[int]],
    of: PartyInput,
    *,
    proofs: bool = True,
    drops: Mapping[int, str] | None = None,
    cheats: Mapping[int, in_process.Cheat] | None = None,
) -> Average:
    """What a run among these people publishes of their steps."""
    if not proofs:
        return _sum_without_masks(steps, of, who.agreement)
    ran = in_process.run(who, steps, drops=drops, cheats=cheats)
    certificate = ran.certificate
    if certificate.state.result is None:
        raise Unreachable(
            "the run ended without a result.",
            why=f"{certificate.abort.fault.value} in the phase {certificate.abort.phase}."
            if certificate.abort
            else "It was not finished.",
            fix="Let fewer parties drop out, or plan for more dropouts.",
        )
    reading = of.read(certificate.means, variance=certificate.variance, places=certificate.state.result.parties)
    return Average(reading, who.agreement.plan, certificate.achieved, certificate.parties, certificate, tuple(ran.log))


def people_for_plan(
    run_plan: RunPlan, of: PartyInput, *, names: Sequence[str] | None = None, title: str = ""
) -> in_process.People:
    """Identities with fresh keys and an agreement between them, for a plan of this measure."""
    labels = tuple(names) if names is not None else tuple(f"p{place}" for place in range(run_plan.parties))
    if len(labels) != run_plan.parties:
        raise WrongShape("there are more or fewer names than values.", why="Each party has one.", fix="Name each.")
    identities, board = tuple(Identity.new(name) for name in labels), Identity.new("board")
    agreed = Agreement(tuple(one.member for one in identities), board.member.key, run_plan, of.quantity, title)
    return in_process.People(agreed, identities, board)


def _sum_without_masks(steps: Sequence[Sequence[int]], of: PartyInput, agreed: Agreement) -> Average:
    """What a run would publish: in the sum, masks are not there any more."""
    run_plan, quantity, count = agreed.plan, agreed.quantity, len(steps)
    drawn = noise.binomial(run_plan.noise_bits * count, Fraction(1, 2), quantity.coordinates)
    totals = [sum(column) + int(own) for column, own in zip(zip(*steps, strict=True), drawn, strict=True)]
    means = [quantity.mean(total, parties=count, plan=run_plan) for total in totals]
    variance = run_plan.variance_of(count) * float(quantity.upper - quantity.lower) ** 2
    reading = of.read(means, variance=variance, places=range(count))
    names = tuple(member.name for member in agreed.roster)
    return Average(reading, run_plan, achieved(run_plan, count, joined=count), names, None)


def _normal_quantile(confidence: Real) -> float:
    level = float(fraction_of(confidence, name="confidence"))
    return -NormalDist().inv_cdf((1 - level) / 2)
