"""All of it on one page: privacy model, mechanism and utility side by side, and what the attacks got."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from hubbub.explain import Document, Figure, Section, TextTable
from hubbub.publish import Anonymised, UtilityComparison
from hubbub.publish.metrics import AUC, mean_of
from hubbub.render import Json, out_of_100, percent
from hubbub.render import bars as text_bars
from hubbub.render.charts import Bar, bar_chart, percentage
from hubbub.studies.publication.attacked import TableAttack
from hubbub.studies.publication.methods import PublicationTable
from hubbub.terms import to_json

OWNER = (
    "This page is for the owner of the data. The tables may be handed out; what the attacks found speaks of real "
    "people and may not. `--no-attacks` leaves it out."
)
UNMEASURED = (
    "How near the tables are to real rows was not measured: give public rows with `--holdout`, which is free, or a "
    "part of the budget with `--measure`."
)


@dataclass(frozen=True, slots=True, eq=False)
class Publication(Document):
    """A table published in one or several ways."""

    source: str
    made: tuple[PublicationTable, ...]
    comparison: UtilityComparison | None
    attempts: tuple[TableAttack, ...]

    @property
    def title(self) -> str:
        """What was published."""
        ways = "one way" if len(self.made) == 1 else f"{len(self.made)} ways"
        return f"{self.source}, published in {ways}"

    def sections(self) -> tuple[Section, ...]:
        """Side by side; what is not protected; what it is worth; what the attacks got."""
        return (
            self._side_by_side(),
            *self._in_numbers(),
            Section("What is not protected against", self._gaps()),
            *(self.comparison.sections() if self.comparison else ()),
            *self._attacked(),
        )

    def to_json(self) -> dict[str, Json]:
        """The numbers and sentences as one JSON document."""
        return {
            "kind": "publication",
            "source": self.source,
            "tables": [_table_json(made) for made in self.made],
            "utility": None if self.comparison is None else self.comparison.to_json(),
            "attacks": [_attempt_json(attempt) for attempt in self.attempts],
        }

    def _side_by_side(self) -> Section:
        words = _shared((made.name, made.promise) for made in self.made)
        comparable = any(not made.method.has_places for made in self.made)
        words += [UNMEASURED] if comparable and not self.comparison else []
        words += [OWNER] if self.attempts else []
        rows = tuple((made.name, made.model, made.mechanism) for made in self.made)
        return Section("Side by side", tuple(words), TextTable(("table", "privacy model", "mechanism"), rows))

    def _in_numbers(self) -> tuple[Section, ...]:
        header = ("table", *self._columns())
        if len(header) == 1:
            return ()
        rows = tuple((made.name, *self._columns(made).values()) for made in self.made)
        return (Section("In a few numbers", (), TextTable(header, rows)),)

    def _columns(self, made: PublicationTable | None = None) -> dict[str, str]:
        """Utility and attacks in a few numbers; those that no table has are left out."""
        found: dict[str, str] = {}
        if any(isinstance(each.result, Anonymised) for each in self.made):
            lost = made.result.metrics if made and isinstance(made.result, Anonymised) else None
            found["lost (GCP)"] = percent(lost.gcp) if lost else "-"
        for key, words in ((mean_of(2), "2-way distance"), (AUC, "AUC")) if self.comparison else ():
            if any(key in one.values for one in self.comparison.scores):  # type: ignore[union-attr]
                values = self.comparison[made.name].values if made and self.comparison else {}
                found[words] = values[key].shown(key) if key in values else "-"
        if self.attempts:
            tried = [a for a in self.attempts if made and a.face == made.name and a.found is not None]
            found["attacks that succeeded"] = "{} of {}".format(*_score(tried)) if tried else "none applies"
        return found

    def _gaps(self) -> tuple[str, ...]:
        """What each model leaves open, said once for all tables that share it."""
        return tuple(_shared((made.name, gap) for made in self.made for gap in made.gaps))

    # ---------------------------------------------------------------- attacks

    def _attacked(self) -> tuple[Section, ...]:
        if not self.attempts:
            return ()
        rows = tuple((a.name, a.face, a.outcome, _learned(a)) for a in self.attempts)
        header = ("attack", "on", "outcome", "secret right for those who were named")
        summary = Section("What the attacks got", (), TextTable(header, rows), self._figure())
        found = [a for a in self.attempts if a.found is not None]
        pictures = [_picture(a) for a in found if a.outcome == "succeeded"]
        lists = {
            "What that means": _meanings(self.attempts),
            "What failed": tuple(f"{a.name}, {a.face}: {a.found.headline}" for a in found if a.outcome == "failed"),  # type: ignore[union-attr]
            "What does not apply": tuple(f"{a.name}, {a.face}: {a.reason}" for a in self.attempts if a.found is None),
        }
        return (summary, *pictures, *(Section(heading, words) for heading, words in lists.items() if words))

    def _figure(self) -> Figure | None:
        faces = list(dict.fromkeys(a.face for a in self.attempts if a.found is not None))
        counts = [
            (face, *_score([a for a in self.attempts if a.face == face and a.found is not None])) for face in faces
        ]
        if not counts:
            return None
        told = "; ".join(f"{face}: {won} of {tried}" for face, won, tried in counts)
        svg = bar_chart(
            [Bar(face, won / tried, shown=f"{won} of {tried}") for face, won, tried in counts],
            title="Attacks that succeeded",
            description=f"{told}.",
            label="of the attacks that apply, so many succeeded",
            show=percentage,
            include=(1.0,),
        )
        drawn = text_bars([(face, won / tried, f"{won} of {tried}") for face, won, tried in counts])
        return Figure("attacks", svg, "Fewer is better; the first bar is the table as it was.", drawn)


def _shared(told: Iterable[tuple[str, str]]) -> list[str]:
    """Sentences about tables, each said once for all tables that share it."""
    found: dict[str, list[str]] = {}
    for name, words in told:
        found.setdefault(words, []).append(name)
    return [f"{', '.join(names)}: {words}" for words, names in found.items()]


def _score(attempts: Sequence[TableAttack]) -> tuple[int, int]:
    return sum(a.found is not None and a.found.succeeded for a in attempts), len(attempts)


def _learned(attempt: TableAttack) -> str:
    if attempt.blind is None:
        return ""
    if attempt.secret is None:
        return "nobody was named"
    return f"{out_of_100(attempt.secret)} (a blind guess: {out_of_100(attempt.blind)})"


def _picture(attempt: TableAttack) -> Section:
    assert attempt.found is not None
    figure = attempt.found.figure()
    named = replace(figure, name=f"{figure.name}-{attempt.face.replace(' ', '-')}")
    return Section(f"{attempt.name}, {attempt.face}", (attempt.found.headline,), figure=named)


def _meanings(attempts: Sequence[TableAttack]) -> tuple[str, ...]:
    """What each kind of attack means and what would have helped, once."""
    found = {a.name: a.found for a in attempts if a.found is not None and a.found.succeeded}
    return tuple(f"{name}: {part}" for name, each in found.items() for part in (*each.meaning(), *each.remedy()))


def _table_json(made: PublicationTable) -> dict[str, Json]:
    result = made.result
    told: dict[str, Json] = {
        "method": made.name,
        "model": made.model,
        "mechanism": made.mechanism,
        "promise": made.promise,
        "not_protected": list(made.gaps),
        "receipt": None if made.receipt is None else to_json(made.receipt),
    }
    manifest = getattr(result, "manifest", None)
    if manifest is not None:
        told["manifest"] = manifest.to_json()
    guarantee = getattr(result, "guarantee", None)
    if guarantee is not None:
        told["guarantee"] = to_json(guarantee)
    return told


def _attempt_json(attempt: TableAttack) -> dict[str, Json]:
    told: dict[str, Json] = {
        "attack": attempt.name,
        "on": attempt.face,
        "outcome": attempt.outcome,
        "reason": attempt.reason,
        "secret_right": attempt.secret,
        "blind_guess": attempt.blind,
    }
    return told if attempt.found is None else {**told, "found": attempt.found.to_json()}
