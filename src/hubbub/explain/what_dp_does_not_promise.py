"""What differential privacy does not promise, said before anyone relies on it."""

from __future__ import annotations

from dataclasses import dataclass

from hubbub.render import Document, Json, Section


def not_promised() -> NotPromised:
    """The smoker and the study, contact tracing, groups, adding up, security: what is outside the promise.

    >>> [limit.heading for limit in not_promised().sections()][0]
    'The smoker and the study: what is true of many'
    """
    return NotPromised()


@dataclass(frozen=True, slots=True)
class NotPromised(Document):
    """The limits, each with an example and what helps instead."""

    @property
    def title(self) -> str:
        """What is explained."""
        return "What differential privacy does not promise"

    def sections(self) -> tuple[Section, ...]:
        """One limit per section."""
        return _LIMITS

    def to_json(self) -> dict[str, Json]:
        """The limits as one JSON document."""
        return {
            "kind": "limits",
            "limits": [{"limit": part.heading, "why": " ".join(part.paragraphs)} for part in _LIMITS],
        }


_LIMITS = (
    Section(
        "The smoker and the study: what is true of many",
        (
            "A smoker takes part in a private study. It finds that smoking causes cancer, and the smoker's insurer, "
            "who knows of the smoking, raises the premium. Harm was done, but not by taking part: the study would "
            "have found the same without this smoker. What can be learned about you without your data is not "
            "protected; finding out such things is what studies are for.",
            "What helps: rules on what findings may be used for.",
        ),
    ),
    Section(
        "Contact tracing: when the answer is a person",
        (
            "If the task is to find one person (who met whom, whose account was robbed, which patient needs the "
            "recall), an answer that hardly depends on any one person is useless by design.",
            "What helps: access control, consent and purpose limits; cryptography that shows each person only what "
            "concerns them.",
        ),
    ),
    Section(
        "Facts of a group: families, villages, firms",
        (
            "The promise is made to one unit at a time. For k people together epsilon becomes k times as large: what "
            "ten relatives have in common is protected ten times less, and a fact about a whole village hardly at "
            "all. If a person has many rows, protecting a row does not protect the person.",
            "What helps: choose the unit that you mean to protect (the person, the household), and bound how much "
            "one unit contributes.",
        ),
    ),
    Section(
        "Many answers: costs add up",
        (
            "Each answer tells a little, and the littles add up, across analysts, copies of the data and years. An "
            "epsilon says nothing until you know that it is the total.",
            "What helps: one budget per population, kept in a ledger that nobody can go around.",
        ),
    ),
    Section(
        "Security: the data themselves",
        (
            "Noise in the answers does not lock the door of the archive. Whoever reads the raw data, through theft, "
            "an open backup, a memory dump or a curator who cannot be trusted, sees everything; and running time or "
            "error messages may tell what answers do not.",
            "What helps: encryption, access control and audit; or the local and the distributed models, in which "
            "nobody holds the raw data.",
        ),
    ),
    Section(
        "Truth: small numbers drown",
        (
            "Private answers are deliberately inexact. Rare groups vanish in the noise, and decisions about them "
            "made from noisy numbers can be unfair.",
            "What helps: read every number with its interval, and do not decide where the interval is too wide.",
        ),
    ),
)
