"""A certificate for people: the result, what it protects, and who did what."""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist

from hubbub.explain import Document, Section, TextTable
from hubbub.gopa.protocol.certificate import Certificate
from hubbub.gopa.protocol.faults import Fault, Named
from hubbub.gopa.protocol.public_state import FIRST
from hubbub.gopa.protocol.wire import ORDER
from hubbub.gopa.reports.agreement_notice import fingerprint_table, protection_words, relied_on, terms_of
from hubbub.gopa.reports.fault_wording import describe_fault
from hubbub.gopa.reports.run_picture import Picture
from hubbub.render import Json, short

_REACH = NormalDist().inv_cdf(0.975)
_SHOWN = 20


@dataclass(frozen=True, slots=True, eq=False)
class CertificateSheet(Document):
    """What a certificate says."""

    certificate: Certificate

    @property
    def title(self) -> str:
        """Which run."""
        agreed = self.certificate.agreement
        return f"{agreed.title or agreed.quantity.name}: a run of GOPA among {len(agreed.roster):,} parties"

    @property
    def reach(self) -> float:
        """How far a mean may be off, 95 times out of 100."""
        return _REACH * math.sqrt(self.certificate.variance)

    def sections(self) -> tuple[Section, ...]:
        """The certificate, part by part."""
        certificate = self.certificate
        protects = (Section("What it protects", self._privacy()),) if certificate.complete else ()
        named = self._named() if certificate.named else None
        figure = Picture(certificate).figure() if certificate.state.closes else None
        return (
            Section("The result", self._result(), self._means()),
            *protects,
            Section("Who did what", self._people(), named, figure),
            *self._whose(),
            Section("To compare with others", (self._marks(),)),
        )

    # ------------------------------------------------ sentences

    def _result(self) -> tuple[str, ...]:
        certificate = self.certificate
        if certificate.complete and len(certificate.means) == 1:
            mean = float(certificate.means[0])
            return (
                f"The mean over {len(certificate.parties):,} parties is {mean:.5g}; 95 times out of 100 the "
                "exact one lies "
                f"between {mean - self.reach:.5g} and {mean + self.reach:.5g}.",
            )
        if certificate.complete:
            return (
                f"The means over {len(certificate.parties):,} parties; 95 times out of 100 each exact one lies within "
                f"{self.reach:.2g}.",
            )
        if certificate.abort is not None:
            return (
                f"There is no result. The run ended in the phase {certificate.abort.phase}: "
                f"{describe_fault(certificate.abort.fault)}.",
            )
        return (f"There is no result: the log ends before the phase {certificate.state.phase} was closed.",)

    def _means(self) -> TextTable | None:
        means = self.certificate.means
        if len(means) < 2:
            return None
        rows = tuple((str(place), f"{float(mean):.5g}", f"±{self.reach:.2g}") for place, mean in enumerate(means))
        return TextTable(("coordinate", "mean", "95%"), rows)

    def _privacy(self) -> tuple[str, ...]:
        reached, agreed = self.certificate.achieved, self.certificate.agreement
        return (
            f"{protection_words(agreed, reached.epsilon)} That holds but for a chance of {reached.delta:.1e} "
            "(delta; agreed "
            f"was {short(agreed.plan.delta)}).",
            f"{relied_on(agreed)} The noise of {reached.honest:,} honest parties is then in the sum.",
            "Every value was proved to be in its range and every noise to be fair; the sum opens all commitments.",
        )

    def _whose(self) -> tuple[Section, ...]:
        """What a log says by itself, if nobody said which run is meant."""
        if self.certificate.pinned:
            return ()
        sentences = (
            "This log is self-consistent only. Anybody can make up keys, names and values and hold a run with himself. "
            "Compare the fingerprints with those of the parties that you mean, or say which run it should be: "
            "--agreement FILE, --run HASH or --roster FILE.",
        )
        return (Section("Whose run it is, is not checked", sentences, fingerprint_table(self.certificate.agreement)),)

    def _people(self) -> tuple[str, ...]:
        named = self.certificate.named
        silent = {name for name, one in named if one.fault in {Fault.SILENT, Fault.WITHHELD_NONCE}}
        faulty = {name for name, one in named} - silent
        agreed = len(self.certificate.agreement.roster)
        sentence = (
            f"{agreed:,} parties had agreed. {len(silent):,} fell silent on the way, {len(faulty):,} broke the rules."
        )
        return (sentence if named else f"{agreed:,} parties had agreed, and all stayed to the end.",)

    def _named(self) -> TextTable:
        named = self.certificate.named
        rows = [(name, one.phase, describe_fault(one.fault)) for name, one in named[:_SHOWN]]
        if len(named) > _SHOWN:
            rows.append((f"and {len(named) - _SHOWN:,} more", "", ""))
        return TextTable(("party", "phase", "what"), tuple(rows))

    def _marks(self) -> str:
        certificate = self.certificate
        pinned = (
            f" Compared with the {' and the '.join(certificate.pins)} that was meant." if certificate.pinned else ""
        )
        return (
            f"Run {certificate.agreement.run.hex()}. Last close of the board: "
            f"{certificate.head[:32].hex() or 'none'}. All keys "
            f"together: {certificate.agreement.fingerprint}.{pinned} Two people who compare these have seen "
            "the same run. "
            "The board needs no trust: it could only have left people out."
        )

    # ------------------------------------------------ for programs

    def to_json(self) -> dict[str, Json]:
        """The certificate as one JSON document."""
        certificate, agreed = self.certificate, self.certificate.agreement
        complete = certificate.complete
        return {
            "kind": "gopa-certificate",
            "complete": complete,
            "pinned": list(certificate.pins),
            "self_consistent_only": not certificate.pinned,
            "title": agreed.title,
            "run": agreed.run.hex(),
            "head": certificate.head.hex(),
            "phases": list(ORDER)[: len(certificate.state.closes)],
            "means": [float(mean) for mean in certificate.means],
            "exact_means": [str(mean) for mean in certificate.means],
            "std_dev": math.sqrt(certificate.variance) if complete else None,
            "reach_95": self.reach if complete else None,
            "parties": list(certificate.parties),
            "roster": [member.name for member in agreed.roster],
            "agreed": {"epsilon": float(agreed.plan.epsilon), "delta": float(agreed.plan.delta)},
            "achieved": _achieved_json(certificate),
            "named": [_named_json(name, one) for name, one in certificate.named],
            "ended": None
            if certificate.abort is None
            else {"fault": certificate.abort.fault.value, "phase": certificate.abort.phase},
            **terms_of(agreed),
        }


def _achieved_json(certificate: Certificate) -> dict[str, Json] | None:
    if ORDER[certificate.state.phase] < ORDER[FIRST] or not certificate.state.revealed:
        return None
    reached = certificate.achieved
    return {
        "epsilon": float(reached.epsilon),
        "delta": reached.delta,
        "honest": reached.honest,
        "enough": reached.enough,
    }


def _named_json(name: str, one: Named) -> dict[str, Json]:
    return {"party": name, "phase": one.phase, "fault": one.fault.value, "words": describe_fault(one.fault)}
