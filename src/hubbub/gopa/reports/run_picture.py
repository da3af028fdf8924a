"""A picture of a run: who shares masks with whom, what each phase brought, and who was lost on the way.

Everything is taken from the public state, so anybody can draw it from a log.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass

from hubbub.explain import Document, Section, TextTable
from hubbub.gopa.protocol.certificate import Certificate
from hubbub.gopa.protocol.faults import Fault, Named
from hubbub.gopa.protocol.wire import ORDER
from hubbub.gopa.reports.fault_wording import describe_fault
from hubbub.render import Figure, Json
from hubbub.render.charts import svg

_SILENT = frozenset({Fault.SILENT, Fault.WITHHELD_NONCE})
_MOST_NAMED = 24  # parties whose names fit around a circle
_MOST_DRAWN = 200
_TOP, _RADIUS, _ROW = 40, 150, 24
_LETTERS = {"in": "o", "lost": ".", "cheat": "x"}


@dataclass(frozen=True, slots=True)
class Picture(Document):
    """The picture of a certificate's run.

    >>> from hubbub.gopa.in_process import people, run
    >>> told = run(people(5, honest=0.8, dropouts=0.2), values=[[0], [1], [2], [1], [2]], drops={4: "reveal"})
    >>> print(Picture(told.certificate).strip())
    join       ooooo  5 of 5
    nonce      ooooo  5 of 5
    share      ooooo  5 of 5
    complain   ooooo  5 of 5
    cut        ooooo  5 of 5
    reveal     oooo.  4 of 5
    confirm    oooo.  4 of 5
    repair-1   oooo.  4 of 5
    """

    certificate: Certificate

    @property
    def title(self) -> str:
        """What is shown."""
        return f"A run of GOPA among {len(self.certificate.agreement.roster):,} parties"

    def sections(self) -> tuple[Section, ...]:
        """The picture with its words."""
        return (Section("The run", self._words(), self._table(), self.figure()),)

    def figure(self) -> Figure:
        """The picture alone, for a page or a report."""
        caption = (
            "Each dot is a party, each line a mask that two parties share: filled dots are in the result, empty ones "
            "fell silent, crosses broke the rules. Beside it, how many were left after each phase."
        )
        return Figure("gopa-run", self._svg(), caption, self.strip())

    def to_json(self) -> dict[str, Json]:
        """The picture as data."""
        roster = self.certificate.agreement.roster
        return {
            "kind": "gopa-picture",
            "parties": [{"name": roster[p].name, "fate": self.fate(p)} for p in range(len(roster))],
            "edges": [list(edge) for edge in self.edges()],
            "phases": [{"phase": phase, "left": self._left(phase)} for phase in self.phases()],
        }

    # ------------------------------------------------ what happened

    def phases(self) -> tuple[str, ...]:
        """The phases that were closed."""
        return tuple(ORDER)[: len(self.certificate.state.closes)]

    def edges(self) -> list[tuple[int, int]]:
        """Pairs that share a mask, as places on the roster."""
        around = self.certificate.state.net.around
        return sorted((one, other) for one, near in around.items() for other in near if one < other)

    def fate(self, place: int, *, phase: str | None = None) -> str:
        """``in``, ``lost`` or ``cheat``: up to the end of a phase, or of the run."""
        until = len(ORDER) if phase is None else ORDER[phase]
        entries = self._named().get(place, ())
        reached = [one for one in entries if ORDER[one.phase] <= until]
        if not reached:
            return "in"
        return "lost" if all(one.fault in _SILENT for one in reached) else "cheat"

    def strip(self) -> str:
        """A line for each phase, a letter for each party: o is there, . fell silent, x broke the rules."""
        return "\n".join(self._line(phase) for phase in self.phases())

    def _line(self, phase: str) -> str:
        count = len(self.certificate.agreement.roster)
        letters = "".join(_LETTERS[self.fate(place, phase=phase)] for place in range(count)) if count <= 60 else ""
        return f"{phase:9}  {letters}{'  ' if letters else ''}{self._left(phase):,} of {count:,}"

    def _left(self, phase: str) -> int:
        count = len(self.certificate.agreement.roster)
        return sum(self.fate(place, phase=phase) == "in" for place in range(count))

    def _named(self) -> dict[int, list[Named]]:
        entries: dict[int, list[Named]] = {}
        for one in self.certificate.state.named:
            entries.setdefault(one.party, []).append(one)
        return entries

    def _words(self) -> tuple[str, ...]:
        fates = Counter(self.fate(place) for place in range(len(self.certificate.agreement.roster)))
        sentence = (
            f"{len(self.edges()):,} pairs shared a mask. {fates['in']:,} parties stayed, {fates['lost']:,} fell "
            f"silent, {fates['cheat']:,} broke the rules."
        )
        end = "There is a result." if self.certificate.complete else "There is no result."
        return (f"{sentence} {end}",)

    def _table(self) -> TextTable | None:
        rows = tuple((name, one.phase, describe_fault(one.fault)) for name, one in self.certificate.named[:_MOST_NAMED])
        return TextTable(("party", "phase", "what"), rows) if rows else None

    # ------------------------------------------------ drawing

    def _svg(self) -> str:
        height = _TOP + 2 * _RADIUS + 70
        body = [svg.text(self.title, x=16, y=26, kind="title"), *self._net(), *self._bars()]
        return svg.document(body, title=self.title, description=self._words()[0], height=height)

    def _net(self) -> list[str]:
        count = len(self.certificate.agreement.roster)
        if count > _MOST_DRAWN:
            return [svg.text(f"{count:,} parties, {len(self.edges()):,} masks", x=40, y=_TOP + _RADIUS, kind="muted")]
        spots = [_circle_position(place, count, _RADIUS - 22) for place in range(count)]
        lines = [
            svg.line(x1=spots[a][0], y1=spots[a][1], x2=spots[b][0], y2=spots[b][1], kind="grid")
            for a, b in self.edges()
        ]
        dots = [_party_dot(*spots[place], self.fate(place)) for place in range(count)]
        return [*lines, *dots, *(self._names() if count <= _MOST_NAMED else [])]

    def _names(self) -> list[str]:
        roster = self.certificate.agreement.roster
        labels = []
        for place, member in enumerate(roster):
            x, y = _circle_position(place, len(roster), _RADIUS - 8)
            side = "start" if x > _CENTRE[0] + 4 else "end" if x < _CENTRE[0] - 4 else "middle"
            drop = 12 if y > _CENTRE[1] + _RADIUS - 12 else -4 if y < _CENTRE[1] - _RADIUS + 12 else 4
            labels.append(svg.text(svg.shorten(member.name, width=52), x=x, y=y + drop, anchor=side, kind="muted"))
        return labels

    def _bars(self) -> list[str]:
        """How many were left after each phase."""
        count, left, full = len(self.certificate.agreement.roster), 470, 110
        bars = []
        for row, phase in enumerate(self.phases()):
            y = _TOP + 20 + row * _ROW
            there = self._left(phase)
            bars += [
                svg.text(phase, x=left - 8, y=y + 11, anchor="end"),
                svg.tag("rect", x=left, y=y, width=full, height=14, class_="hb-no"),
                svg.tag("rect", x=left, y=y, width=full * there / count, height=14, class_="hb-yes"),
                svg.text(f"{there:,}", x=left + full + 8, y=y + 11),
            ]
        return bars


_CENTRE = (190, _TOP + _RADIUS + 24)


def _circle_position(place: int, count: int, radius: float) -> tuple[float, float]:
    angle = 2 * math.pi * place / count - math.pi / 2
    return _CENTRE[0] + radius * math.cos(angle), _CENTRE[1] + radius * math.sin(angle)


def _party_dot(x: float, y: float, fate: str) -> str:
    if fate == "cheat":
        return svg.tag("path", d=f"M{x - 5:.1f},{y - 5:.1f}l10,10m0,-10l-10,10", class_="hb-line hb-hue1")
    kind = "hb-yes" if fate == "in" else "hb-dot"
    return svg.tag("circle", cx=x, cy=y, r=5, class_=kind)
