"""The publication sheet: what to print beside private numbers, so that others can read and check them."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hubbub import terms
from hubbub.releases import text as _text
from hubbub.releases.formulas import Mean, Over, walk_formula
from hubbub.render import Document, Json, Section, TextTable
from hubbub.terms import ApproximateDP, PureDP, ZeroConcentratedDP

if TYPE_CHECKING:
    from hubbub.releases.release import Release, ReleasedColumn

PAPERS = {
    "DMNS06": "Cynthia Dwork, Frank McSherry, Kobbi Nissim and Adam Smith. Calibrating Noise to Sensitivity in Private "
    "Data Analysis. TCC 2006.",
    "DR14": "Cynthia Dwork and Aaron Roth. The Algorithmic Foundations of Differential Privacy. 2014.",
    "CKS20": "Clément L. Canonne, Gautam Kamath and Thomas Steinke. The Discrete Gaussian for Differential Privacy. "
    "NeurIPS 2020.",
    "GRS09": "Arpita Ghosh, Tim Roughgarden and Mukund Sundararajan. Universally Utility-Maximizing Privacy "
    "Mechanisms. STOC 2009.",
    "BS16": "Mark Bun and Thomas Steinke. Concentrated Differential Privacy: Simplifications, Extensions, and Lower "
    "Bounds. TCC 2016-B.",
}
_ROWS = 200  # printed; the data themselves are published as a file


@dataclass(frozen=True, slots=True)
class PublicationSheet(Document):
    """Methods, parameters, guarantee and citations of one release, for a terminal, a page, Markdown and JSON."""

    release: Release
    confidence: float = 0.95

    @property
    def title(self) -> str:
        """What the sheet is."""
        return "How these numbers were made"

    def sections(self) -> tuple[Section, ...]:
        """The sheet, part by part."""
        known = dict(self.release.parameters)
        parts = [
            Section("Methods", (self.methods(),)),
            Section("Numbers", (), self._numbers()),
            Section("Columns", (), self._columns()),
            Section("Guarantee", (self.release.guarantee.describe(),)),
            self._receipt(),
            Section("Bear in mind", self.release.remarks()),
            Section("References", self.references()),
        ]
        if known:
            parts.insert(3, Section("Parameters", (), TextTable(("parameter", "value"), tuple(known.items()))))
        return tuple(parts)

    def methods(self) -> str:
        """A paragraph for the methods section of a paper."""
        release = self.release
        distributions = {
            release.measures[i].noise.distribution for output in release.columns for i in output.formula.noises()
        }
        noise = " and ".join(
            f"discrete {distribution.title()} noise {cited}"
            for distribution, cited in (("gaussian", "[CKS20]"), ("laplace", "[GRS09]"))
            if distribution in distributions
        )
        together = "for all rows that were looked at together" if release.looked_at > 1 else "each"
        sentences = [
            f"The numbers answer the query `{' '.join(release.question.split())}`." if release.question else "",
            "They are differentially private [DMNS06]"
            + (f": exact integers, computed on bounded data, received {noise} before release." if noise else "."),
            f"The privacy cost is {release.cost_words()} for {release.guarantee.unit.describe()} "
            f"({release.guarantee.neighbours.value} neighbours).",
            f"Intervals hold the number without noise with {100 * self.confidence:g}% confidence {together}; "
            f"{self._how()}They do not cover clipping, and derived numbers are post-processing [DR14].",
        ]
        return " ".join(part for part in sentences if part)

    def _how(self) -> str:
        parts = [part for output in self.release.columns for part in walk_formula(output.formula)]
        if any(isinstance(part, Mean | Over) for part in parts):
            return "those of ratios and averages follow Fieller's method. "
        return "they follow from the distribution of the noise. "

    def references(self) -> tuple[str, ...]:
        """The papers that the methods rest on, and the receipt."""
        used = set(re.findall(r"\[(\w+)\]", self.methods()))
        used |= {"BS16"} if isinstance(self.release.guarantee.holds, ZeroConcentratedDP) else set()
        return tuple(f"[{key}] {text}" for key, text in PAPERS.items() if key in used)

    def _receipt(self) -> Section:
        receipt = self.release.receipt
        if receipt is None:
            return Section("Receipt", ("This release was charged to no ledger.",))
        again = ("This answer repeats one that was charged before, at no cost.",) if self.release.repeated else ()
        rows = (
            ("population", receipt.population),
            ("entry of the ledger", f"{receipt.sequence:,}"),
            ("charged", receipt.charged.describe()),
            ("at", receipt.at),
            ("head of the chain", receipt.head),
        )
        return Section("Receipt", again, TextTable(("receipt", ""), rows))

    def _numbers(self) -> TextTable:
        release = self.release
        columns = _text.shown_columns(release, confidence=self.confidence, limit=_ROWS)
        return TextTable(release.columns_names, tuple(zip(*columns, strict=True)))

    def _columns(self) -> TextTable:
        rows = tuple(
            (output.name, output.about or "—", self._mechanism(output), self._clipping(output))
            for output in self.release.columns
        )
        return TextTable(("column", "what it is", "mechanism", "clipping"), rows)

    def _mechanism(self, output: ReleasedColumn) -> str:
        if output.mechanism:
            return output.mechanism
        mechanisms = {
            f"{m.name}: {m.noise.describe()} of {float(m.step):g}"
            for m in (self.release.measures[i] for i in output.formula.noises())
        }
        return "; ".join(sorted(mechanisms)) or "a key or a public number"

    def _clipping(self, output: ReleasedColumn) -> str:
        noisy = output.formula.is_uncertain(self.release.table)
        return self.release.clipped.get(output.name, "not estimated" if noisy else "none")

    def markdown(self) -> str:
        """The sheet as Markdown."""
        parts = [f"# {self.title}"]
        for section in self.sections():
            parts.append(f"## {section.heading}")
            parts += [_markdown_inline(words) for words in section.paragraphs]
            if section.table:
                parts.append(_markdown_table(section.table))
        return "\n\n".join(parts) + "\n"

    def to_json(self) -> dict[str, Json]:
        """The sheet as one JSON document, numbers and intervals included."""
        release = self.release
        return {
            "kind": "publication sheet",
            "question": release.question,
            "methods": self.methods(),
            "confidence": self.confidence,
            "columns": [self._column_json(place) for place in range(len(release.columns))],
            "parameters": dict(release.parameters),
            "privacy": _privacy_json(release),
            "guarantee": release.guarantee.describe(),
            "receipt": None if release.receipt is None else terms.to_json(release.receipt),
            "repeated": release.repeated,
            "remarks": list(release.remarks()),
            "references": list(self.references()),
        }

    def _column_json(self, place: int) -> dict[str, Json]:
        output = self.release.columns[place]
        values, (lows, highs) = self.release.told(place, self.confidence)
        known: dict[str, Json] = {
            "name": output.name,
            "about": output.about,
            "mechanism": self._mechanism(output),
            "clipping": self._clipping(output),
            "values": [_json_value(value) for value in values],
        }
        if self.release.is_noisy(place):
            known |= {"low": [_json_value(v) for v in lows], "high": [_json_value(v) for v in highs]}
        return known


def _privacy_json(release: Release) -> dict[str, Json]:
    holds = release.guarantee.holds
    known: dict[str, Json] = {"measure": holds.kind}
    if isinstance(holds, PureDP | ApproximateDP):
        known["epsilon"] = float(holds.epsilon)
    if isinstance(holds, ZeroConcentratedDP):
        known["rho"] = float(holds.rho)
    if isinstance(holds, ApproximateDP | ZeroConcentratedDP):
        known["delta"] = float(holds.delta)
    return known | {"unit": release.guarantee.unit.describe(), "neighbours": release.guarantee.neighbours.value}


def _json_value(value: object) -> Json:
    """A value that JSON can hold: dates as text, what is unbounded as null."""
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if value is None or isinstance(value, bool | int | float | str) else _text.format_number(value)


def _markdown_inline(words: str) -> str:
    """Words that mean themselves in Markdown; code stays code."""
    parts = words.split("`")
    return "`".join(part if i % 2 else re.sub(r"([\\*_<>|#])", r"\\\1", part) for i, part in enumerate(parts))


def _markdown_table(table: TextTable) -> str:
    def line(cells: tuple[str, ...]) -> str:
        return f"| {' | '.join(_markdown_inline(cell).replace(chr(10), ' ') for cell in cells)} |"

    rule = f"|{'|'.join(['---'] * len(table.header))}|"
    return "\n".join([line(table.header), rule, *map(line, table.rows)])
