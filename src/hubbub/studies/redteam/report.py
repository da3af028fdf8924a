"""All attempts on one page: what each face gave away, then attack by attack."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from hubbub.render import Document, Figure, Json, Section, TextTable
from hubbub.render.charts import Bar, bar_chart, plain
from hubbub.studies.attempts import FaceAttack
from hubbub.studies.redteam.target import Target
from hubbub.terms import Budget


@dataclass(frozen=True, slots=True, eq=False)
class RedTeam(Document):
    """What was tried on a dataset, and what it gave away. For its owner: it speaks of real people."""

    target: Target
    budget: Budget
    k: int
    attempts: tuple[FaceAttack, ...]

    @property
    def title(self) -> str:
        """Whose data were attacked."""
        return f"What {self.target.dataset.name} gives away"

    def sections(self) -> tuple[Section, ...]:
        """The summary, and each attack that applied."""
        return (self._summary(), *(part for attempt in self.attempts for part in _attack_sections(attempt)))

    def to_json(self) -> dict[str, Json]:
        """Every attempt with its numbers."""
        attempts = [
            {"attack": a.name, "face": a.face, "outcome": a.outcome, "reason": a.reason}
            | ({"found": a.result.to_json()} if a.result is not None else {})
            for a in self.attempts
        ]
        return {"dataset": self.target.dataset.name, "known": list(self.target.known), "attempts": list(attempts)}

    def succeeded(self, face: str) -> int:
        """How many attacks on that face succeeded."""
        return sum(a.face == face and a.result is not None and a.result.succeeded for a in self.attempts)

    def _summary(self) -> Section:
        target = self.target
        return Section(
            "What each face gave away",
            (
                f"{len(target.ids):,} people of the table {target.table.name!r}. Outsiders may know of a person: "
                f"{', '.join(target.known)}. The secret: whether {target.secret.column} is {target.secret.value}.",
                f"The same table was handed out without names, {self.k}-anonymous, by exact answers, and by private "
                f"answers ({self.budget.measure().describe()} for each attack, on ledgers of their own: no budget was "
                "spent). This page is for the owner of the data: it tells what attackers found.",
                "Not tried, since nothing of the kind was handed out: ratings or places over time, social graphs, and "
                "trained models. hubbub.attacks has those too.",
            ),
            TextTable(("attack", "on", "outcome"), tuple((a.name, a.face, a.outcome) for a in self.attempts)),
            self._figure(),
        )

    def _figure(self) -> Figure:
        faces = list(dict.fromkeys(a.face for a in self.attempts))
        counts = [
            (face, self.succeeded(face), sum(a.face == face and a.result is not None for a in self.attempts))
            for face in faces
        ]
        summary = "; ".join(f"{face}: {won} of {tried}" for face, won, tried in counts)
        drawn = bar_chart(
            [Bar(face, float(won), shown=f"{won} of {tried}") for face, won, tried in counts],
            title="Attacks that succeeded",
            description=summary + ".",
            label="attacks that succeeded",
            show=plain,
        )
        return Figure("red-team", drawn, f"Attacks that succeeded. {summary}.")


def _attack_sections(attempt: FaceAttack) -> Sequence[Section]:
    """The parts of one attack, under headings that say what was attacked; pictures get names of their own."""
    if attempt.result is None:
        return (Section(f"{attempt.name}, {attempt.face}: does not apply", (attempt.reason,)),)
    return [_title_section(attempt, part) for part in attempt.result.sections()]


def _title_section(attempt: FaceAttack, part: Section) -> Section:
    name, _, rest = part.heading.partition(": ")
    figure = part.figure
    if figure is not None:
        figure = replace(figure, name=f"{figure.name}-{attempt.face.replace(' ', '-')}")
    return replace(part, heading=f"{name}, {attempt.face}: {rest}" if rest else part.heading, figure=figure)
