"""Choice of a frequency oracle: the least variance that fits into the bytes, and why."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from hubbub.local.randomizers.base import FrequencyRandomizer
from hubbub.local.randomizers.common.values import domain_of, epsilon_of
from hubbub.local.randomizers.hadamard import OneBitHadamard
from hubbub.local.randomizers.kary import KaryResponse
from hubbub.local.randomizers.local_hashing import LocalHashing
from hubbub.local.randomizers.projective import ProjectiveGeometry
from hubbub.local.randomizers.subset import SubsetSelection
from hubbub.render import Document, Json, Section, TextTable, short
from hubbub.terms import OutOfRange, Real, whole

_NEARLY = 1.05  # a randomizer within 5% of the least error is as good, and then the shorter report wins
_DECODES_AT_ONCE = 1 << 21
_HASH_WORK = 10_000  # values up to which hashing is decoded in reasonable time
_SET_DOMAIN = 256  # values up to which a report may be a set of them


@dataclass(frozen=True, slots=True)
class Choice(Document):
    """A randomizer that was picked, the reason, and what the others would have had."""

    randomizer: FrequencyRandomizer
    reason: str
    considered: tuple[FrequencyRandomizer, ...]

    @property
    def title(self) -> str:
        """What was asked for."""
        picked = self.randomizer
        return f"A randomizer for {picked.domain:,} values at epsilon = {short(picked.epsilon)}"

    def sections(self) -> tuple[Section, ...]:
        """The choice, and the others beside it."""
        rows = tuple(
            (type(r).__name__, short(r.variance(count=1)), str(r.payload_bytes), "yes" if r is self.randomizer else "")
            for r in self.considered
        )
        table = TextTable(("randomizer", "n * variance", "bytes", "picked"), rows)
        return (Section("Picked", (self.reason,), table),)

    def to_json(self) -> dict[str, Json]:
        """The choice as one JSON document."""
        return {
            "kind": "choice",
            "picked": self.randomizer.parameters(),
            "reason": self.reason,
            "considered": [
                {"protocol": r.protocol, "variance": r.variance(count=1), "bytes": r.payload_bytes}
                for r in self.considered
            ],
        }


def choose(*, domain: int, epsilon: Real, bytes: int | None = None) -> Choice:
    """The randomizer with the least error for shares of so many values, in at most so many bytes a report.

    For few values (below about 3 e^epsilon + 2) that is ``KaryResponse``, or ``SubsetSelection`` where sets are short;
    for many, ``ProjectiveGeometry``.

    >>> choose(domain=100_000, epsilon=1).randomizer
    ProjectiveGeometry(epsilon=1, domain=100000, missing=0, order=3)
    >>> choose(domain=4, epsilon=1, bytes=1).randomizer
    KaryResponse(epsilon=1, domain=4, missing=0)
    """
    values, cost = domain_of(domain), epsilon_of(epsilon)
    limit = None if bytes is None else whole(bytes, name="bytes")
    considered = _candidate_randomizers(values, cost)
    fitting = [r for r in considered if limit is None or r.payload_bytes <= limit]
    if not fitting:
        shortest = min(r.payload_bytes for r in considered)
        raise OutOfRange(
            f"no randomizer for {values:,} values fits into {limit} bytes.",
            why=f"The shortest report has {shortest}: it must be able to name every value.",
            fix=f"Allow {shortest} bytes, or merge values.",
        )
    least = min(r.variance(count=1) for r in fitting)
    good = [r for r in fitting if r.variance(count=1) <= _NEARLY * least]
    picked = min(good, key=lambda r: (r.payload_bytes, r.words, r.variance(count=1)))
    return Choice(picked, _choice_reason(picked, least, limit), tuple(considered))


def _candidate_randomizers(domain: int, epsilon: Fraction) -> list[FrequencyRandomizer]:
    candidates: list[FrequencyRandomizer] = [KaryResponse(epsilon=epsilon, domain=domain)]
    if domain <= _SET_DOMAIN:
        candidates.append(SubsetSelection(epsilon=epsilon, domain=domain))
    if domain <= _DECODES_AT_ONCE:
        candidates.append(ProjectiveGeometry(epsilon=epsilon, domain=domain))
    candidates.append(OneBitHadamard(epsilon=epsilon, domain=domain))
    if domain <= _HASH_WORK:
        candidates.append(LocalHashing(epsilon=epsilon, domain=domain))
    return candidates


def _choice_reason(picked: FrequencyRandomizer, least: float, limit: int | None) -> str:
    odds = math.exp(float(picked.epsilon))
    best = 4 * odds / (odds - 1) ** 2
    reason = {
        "kary": f"few values ({picked.domain}, below about 3 e^epsilon + 2): naming one outright has the least error",
        "subset": "few values: a set of them has the least error of all, and fits into a few bytes",
        "projective": "many values: close to the least error possible, in a short report, decoded by one transform",
        "onebit": "so many values that only one noisy bit about a public column can be decoded at once",
        "hashing": "this epsilon is large for so many values: hashing has the least error, but decoding takes long",
    }[picked.protocol]
    within = "" if limit is None else f" within {limit} bytes"
    error = f"n * variance {picked.variance(count=1):.3g} for a rare value (the best for many values is {best:.3g})"
    return f"{reason[0].upper()}{reason[1:]}{within}: {error}, {picked.payload_bytes} bytes a report."
