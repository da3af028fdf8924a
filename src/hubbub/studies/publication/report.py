"""All of it on one page: privacy model, mechanism and utility side by side, and what the attacks got."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from hubbub.explain import Document, Figure, Section, TextTable
from hubbub.publish import Anonymized, UtilityComparison
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
    tables: tuple[PublicationTable, ...]
    comparison: UtilityComparison | None
    attempts: tuple[TableAttack, ...]

    @property
    def title(self) -> str:
        """What was published."""
        ways = "one way" if len(self.tables) == 1 else f"{len(self.tables)} ways"
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
            "tables": [_table_json(table) for table in self.tables],
            "utility": None if self.comparison is None else self.comparison.to_json(),
            "attacks": [_attempt_json(attempt) for attempt in self.attempts],
        }

    def _side_by_side(self) -> Section:
        words = _group_sentences((table.name, table.promise) for table in self.tables)
        comparable = any(not table.method.has_places for table in self.tables)
        words += [UNMEASURED] if comparable and not self.comparison else []
        words += [OWNER] if self.attempts else []
        rows = tuple((table.name, table.model, table.mechanism) for table in self.tables)
        return Section("Side by side", tuple(words), TextTable(("table", "privacy model", "mechanism"), rows))

    def _in_numbers(self) -> tuple[Section, ...]:
        header = ("table", *self._columns())
        if len(header) == 1:
            return ()
        rows = tuple((table.name, *self._columns(table).values()) for table in self.tables)
        return (Section("In a few numbers", (), TextTable(header, rows)),)

    def _columns(self, table: PublicationTable | None = None) -> dict[str, str]:
        """Utility and attacks in a few numbers; those that no table has are left out."""
        columns: dict[str, str] = {}
        if any(isinstance(each.result, Anonymized) for each in self.tables):
            lost = table.result.metrics if table and isinstance(table.result, Anonymized) else None
            columns["lost (GCP)"] = percent(lost.gcp) if lost else "-"
        for key, words in ((mean_of(2), "2-way distance"), (AUC, "AUC")) if self.comparison else ():
            if any(key in one.values for one in self.comparison.scores):  # type: ignore[union-attr]
                values = self.comparison[table.name].values if table and self.comparison else {}
                columns[words] = values[key].shown(key) if key in values else "-"
        if self.attempts:
            tried = [a for a in self.attempts if table and a.face == table.name and a.result is not None]
            columns["attacks that succeeded"] = "{} of {}".format(*_count_successes(tried)) if tried else "none applies"
        return columns

    def _gaps(self) -> tuple[str, ...]:
        """What each model leaves open, said once for all tables that share it."""
        return tuple(_group_sentences((table.name, gap) for table in self.tables for gap in table.gaps))

    # ---------------------------------------------------------------- attacks

    def _attacked(self) -> tuple[Section, ...]:
        if not self.attempts:
            return ()
        rows = tuple((a.name, a.face, a.outcome, _describe_gain(a)) for a in self.attempts)
        header = ("attack", "on", "outcome", "secret right for those who were named")
        summary = Section("What the attacks got", (), TextTable(header, rows), self._figure())
        successes = [a for a in self.attempts if a.result is not None]
        pictures = [_attack_section(a) for a in successes if a.outcome == "succeeded"]
        lists = {
            "What that means": _describe_attacks(self.attempts),
            "What failed": tuple(f"{a.name}, {a.face}: {a.headline}" for a in successes if a.outcome == "failed"),
            "What does not apply": tuple(
                f"{a.name}, {a.face}: {a.headline}" for a in self.attempts if a.result is None
            ),
        }
        return (summary, *pictures, *(Section(heading, words) for heading, words in lists.items() if words))

    def _figure(self) -> Figure | None:
        faces = list(dict.fromkeys(a.face for a in self.attempts if a.result is not None))
        counts = [
            (face, *_count_successes([a for a in self.attempts if a.face == face and a.result is not None]))
            for face in faces
        ]
        if not counts:
            return None
        summary = "; ".join(f"{face}: {won} of {tried}" for face, won, tried in counts)
        svg = bar_chart(
            [Bar(face, won / tried, shown=f"{won} of {tried}") for face, won, tried in counts],
            title="Attacks that succeeded",
            description=f"{summary}.",
            label="of the attacks that apply, so many succeeded",
            show=percentage,
            include=(1.0,),
        )
        drawn = text_bars([(face, won / tried, f"{won} of {tried}") for face, won, tried in counts])
        return Figure("attacks", svg, "Fewer is better; the first bar is the table as it was.", drawn)


def _group_sentences(sentences: Iterable[tuple[str, str]]) -> list[str]:
    """Sentences about tables, each said once for all tables that share it."""
    tables_by_sentence: dict[str, list[str]] = {}
    for name, words in sentences:
        tables_by_sentence.setdefault(words, []).append(name)
    return [f"{', '.join(names)}: {words}" for words, names in tables_by_sentence.items()]


def _count_successes(attempts: Sequence[TableAttack]) -> tuple[int, int]:
    return sum(a.result is not None and a.result.succeeded for a in attempts), len(attempts)


def _describe_gain(attempt: TableAttack) -> str:
    if attempt.blind is None:
        return ""
    if attempt.secret is None:
        return "nobody was named"
    return f"{out_of_100(attempt.secret)} (a blind guess: {out_of_100(attempt.blind)})"


def _attack_section(attempt: TableAttack) -> Section:
    assert attempt.result is not None
    figure = attempt.result.figure()
    named = replace(figure, name=f"{figure.name}-{attempt.face.replace(' ', '-')}")
    return Section(f"{attempt.name}, {attempt.face}", (attempt.headline,), figure=named)


def _describe_attacks(attempts: Sequence[TableAttack]) -> tuple[str, ...]:
    """What each kind of attack means and what would have helped, once."""
    attacks = {a.name: a.result for a in attempts if a.result is not None and a.result.succeeded}
    return tuple(f"{name}: {part}" for name, each in attacks.items() for part in (*each.meaning(), *each.remedy()))


def _table_json(table: PublicationTable) -> dict[str, Json]:
    result = table.result
    document: dict[str, Json] = {
        "method": table.name,
        "model": table.model,
        "mechanism": table.mechanism,
        "promise": table.promise,
        "not_protected": list(table.gaps),
        "receipt": None if table.receipt is None else to_json(table.receipt),
    }
    manifest = getattr(result, "manifest", None)
    if manifest is not None:
        document["manifest"] = manifest.to_json()
    guarantee = getattr(result, "guarantee", None)
    if guarantee is not None:
        document["guarantee"] = to_json(guarantee)
    return document


def _attempt_json(attempt: TableAttack) -> dict[str, Json]:
    document: dict[str, Json] = {
        "attack": attempt.name,
        "on": attempt.face,
        "outcome": attempt.outcome,
        "reason": attempt.reason,
        "secret_right": attempt.secret,
        "blind_guess": attempt.blind,
    }
    if attempt.sampled is not None:
        document["sampled_from"] = attempt.sampled
    return document if attempt.result is None else {**document, "found": attempt.result.to_json()}
