"""A release: the table of an answer, with everything that its reader needs to know."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from hubbub.releases.formulas import Formula, GivenIntervals, Key, Ref, at_rows, lost_in_noise, walk_formula
from hubbub.releases.formulas.base import Ends, Values
from hubbub.releases.noisy_columns import KeyColumn, NoisyColumn, NoisyTable
from hubbub.releases.noisy_values import Noisy
from hubbub.terms import Guarantee, Receipt, UnknownName, WrongShape, ZeroConcentratedDP, added_bounds

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow

    from hubbub.releases.publication_sheet import PublicationSheet
    from hubbub.releases.rounded import Rounded

NOISE_ONLY = "Intervals cover the noise that was added, and nothing else"
NEGATIVE = (
    "A count below 0 means few or none: noise goes both ways. It is kept as released, so that sums and averages of "
    "many rows stay right; .rounded() shows it as 0."
)

DENSE = "if values lie densely there"

UNKNOWN = "where an interval spans all that is declared, too few rows, or none, may be there to tell from noise."

CHOSEN = (
    "Noisy values chose these rows out of {rows:,}, and favour those that noise lifted. So intervals are simultaneous: "
    "those of a column hold for all rows that were looked at, with the stated confidence."
)


@dataclass(frozen=True, slots=True)
class ReleasedColumn:
    """A column of the answer: its name, how it is worked out, what it is, by which mechanism, and remarks."""

    name: str
    formula: Formula
    about: str = ""
    mechanism: str = ""
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Release:
    """An answer as it leaves us: noisy numbers with intervals, the receipt, and the guarantee.

    It is what was asked (``question``), the noisy integers (``measures``) and keys that answer it, and how the
    ``columns`` come from them. ``clipped`` says in words, per column, what is privately known about clipping, where
    that was paid for; without it, intervals say nothing about clipping.

    Guarantee: that of ``guarantee``, for everything here and everything worked out from it.
    Because: [DR14], post-processing: a release holds released numbers only.
    Error: ``intervals(confidence)``; they cover the noise, not clipping, missing groups or rounding to the grid.
    """

    keys: tuple[KeyColumn, ...]
    measures: tuple[NoisyColumn, ...]
    columns: tuple[ReleasedColumn, ...]
    guarantee: Guarantee
    receipt: Receipt | None = None
    question: str = ""
    repeated: bool = False
    notes: tuple[str, ...] = ()
    parameters: Mapping[str, str] = field(default_factory=dict)
    budget_left: str = ""
    clipped: Mapping[str, str] = field(default_factory=dict)
    looked_at: int = 1  # rows among which noisy values chose those shown (HAVING, ORDER BY with LIMIT)

    def __post_init__(self) -> None:
        for name in ("keys", "measures", "columns", "notes"):
            object.__setattr__(self, name, tuple(getattr(self, name)))
        for name in ("parameters", "clipped"):
            object.__setattr__(self, name, dict(getattr(self, name)))
        self._check()

    def _check(self) -> None:
        """Columns of one length, and formulas that find what they refer to."""
        size, parts = self.table.size, [part for output in self.columns for part in walk_formula(output.formula)]
        fits = all(
            (not isinstance(part, Key) or 0 <= part.index < len(self.keys))
            and (not isinstance(part, GivenIntervals) or len(part.values) == size)
            and all(0 <= index < len(self.measures) for index in part.uses())
            for part in parts
        )
        if not fits:
            raise WrongShape(
                "a column refers to a key or a measure that the release does not have, or is of another length.",
                why="Every column is worked out from the release's own keys and measures.",
                fix="Give each column a formula over them.",
            )

    @cached_property
    def table(self) -> NoisyTable:
        """Keys and measures, with where each noise was drawn: a receipt tells that an answer is the same one."""
        lengths = [len(key.values) for key in self.keys] + [len(measure.values) for measure in self.measures]
        lengths += [
            len(part.values)
            for out in self.columns
            for part in walk_formula(out.formula)
            if isinstance(part, GivenIntervals)
        ]
        size = next(iter(lengths), 1)
        return NoisyTable(self.keys, self.measures, size, self._origins(), self.looked_at)

    def _origins(self) -> tuple[tuple[object, ...], ...]:
        if self.receipt is None:
            return ()
        place = (self.receipt.population, self.receipt.sequence, self.receipt.head)
        return tuple((*place, index) for index in range(len(self.measures)))

    # ------------------------------------------------------------ rows and columns

    def head(self, count: int) -> Release:
        """The first rows as a release of their own."""
        if count >= len(self):
            return self
        rows = slice(0, count)
        return dataclasses.replace(
            self,
            keys=tuple(dataclasses.replace(key, values=key.values[rows]) for key in self.keys),
            measures=tuple(dataclasses.replace(m, values=m.values[rows]) for m in self.measures),
            columns=tuple(dataclasses.replace(o, formula=at_rows(o.formula, rows)) for o in self.columns),
        )

    @property
    def columns_names(self) -> tuple[str, ...]:
        """The names of the columns, in the order in which they were asked for."""
        return tuple(output.name for output in self.columns)

    def __len__(self) -> int:
        return self.table.size

    def __iter__(self) -> Iterator[tuple[object, ...]]:
        return iter(self.dbapi_rows())

    def dbapi_rows(self) -> list[tuple[object, ...]]:
        """The rows as tuples, as a database driver gives them."""
        return list(zip(*self._values, strict=True))

    @cached_property
    def _values(self) -> list[Values]:
        return [output.formula.evaluate(self.table) for output in self.columns]

    def __getitem__(self, name: str) -> Noisy:
        return Noisy(name, self.columns[self.place(name)].formula, self.table)

    def place(self, name: str) -> int:
        """Which column has that name."""
        if name not in self.columns_names:
            raise UnknownName(
                f"the release has no column {name!r}.",
                why=f"It has {', '.join(map(repr, self.columns_names)) or 'none'}.",
                fix="Use one of those names.",
            )
        return self.columns_names.index(name)

    @property
    def value(self) -> object:
        """The one value of an answer with one row and one column."""
        if (len(self), len(self.columns)) != (1, 1):
            raise WrongShape(
                f"the answer has {len(self):,} rows and {len(self.columns):,} columns.",
                why="A single value was asked for.",
                fix='Use release["name"].values, or iterate over the rows.',
            )
        return self._values[0][0]

    def scalar(self) -> object:
        """The same as ``value``."""
        return self.value

    @cached_property
    def _ends(self) -> dict[tuple[int, float], Ends]:
        return {}

    def told(self, place: int, confidence: float = 0.95) -> tuple[Values, Ends]:
        """The values of a column and both ends of their intervals."""
        if (place, confidence) not in self._ends:
            level = self.table.level(confidence)
            self._ends[place, confidence] = self.columns[place].formula.interval(self.table, level)
        return self._values[place], self._ends[place, confidence]

    def intervals(self, confidence: float = 0.95) -> dict[str, list[tuple[object, object]]]:
        """(low, high) of every row, by column; of keys and public numbers both are the value.

        Where noisy values chose the rows (``looked_at``), the intervals of a column are simultaneous: with that
        confidence they hold for all rows that were looked at.
        """
        intervals = {output.name: self.told(i, confidence)[1] for i, output in reversed(list(enumerate(self.columns)))}
        return {name: list(zip(*intervals[name], strict=True)) for name in dict.fromkeys(self.columns_names)}

    def is_noisy(self, place: int) -> bool:
        """Whether there is noise in a column."""
        return self.columns[place].formula.is_uncertain(self.table)

    def counts_at(self, place: int) -> bool:
        """Whether a column is a count as released."""
        formula = self.columns[place].formula
        return isinstance(formula, Ref) and self.measures[formula.index].name.upper().startswith("COUNT")

    # ------------------------------------------------------------ words

    @property
    def receipts(self) -> tuple[Receipt, ...]:
        """The receipts behind it: its own; of what was worked out of several releases, each of theirs."""
        return () if self.receipt is None else (self.receipt,)

    def cost_words(self) -> str:
        """What it cost, in epsilon where the budget is in epsilon: then the rho of its noise stands in brackets."""
        told = self.guarantee.holds.describe()
        charged = [receipt.charged for receipt in self.receipts]
        if not isinstance(self.guarantee.holds, ZeroConcentratedDP) or not charged:
            return told
        if any(isinstance(each, ZeroConcentratedDP) for each in charged):
            return told
        return f"{added_bounds(charged).describe()} ({told})"

    def price(self) -> str:
        """What it cost, and where that is written."""
        parts = [self.cost_words()]
        if self.receipt is None:
            parts.append("charged to no ledger")
        elif self.repeated:
            parts.append(f"repeat of #{self.receipt.sequence}: free")
        else:
            parts.append(f"receipt #{self.receipt.sequence} of {self.receipt.population}")
        return " · ".join([*parts, f"left: {self.budget_left}"] if self.budget_left else parts)

    def remarks(self) -> tuple[str, ...]:
        """What a reader must bear in mind."""
        own = tuple(note for output in self.columns for note in output.notes)
        clipped = tuple(f"{name}: {words}" for name, words in self.clipped.items())
        below = any(self.counts_at(i) and any(v < 0 for v in self._values[i] if v) for i in range(len(self.columns)))
        covered = ", except where noted." if self.clipped else ": not clipping, nor groups that do not appear."
        chosen = (CHOSEN.format(rows=self.looked_at),) if self.looked_at > 1 else ()
        return (
            *self.notes,
            *own,
            *self._lost_in_noise(),
            *self._short_intervals(),
            *self._unknown_intervals(),
            *clipped,
            *((NEGATIVE,) if below else ()),
            *chosen,
            NOISE_ONLY + covered,
        )

    def _lost_in_noise(self) -> Iterator[str]:
        """Which columns hold numbers that are no more than noise."""
        for column in self.columns:
            rows = int(lost_in_noise(column.formula, self.table).sum())
            where = "" if len(self) == 1 else f" in {rows:,} of {len(self):,} rows"
            if rows:
                yield f"{column.name} cannot be told from noise{where}: it takes a larger price, or more rows."

    def _short_intervals(self) -> tuple[str, ...]:
        """Where shorter intervals stand beside those that are shown."""
        from hubbub.releases.text import format_number

        given = [(column.name, column.formula) for column in self.columns if isinstance(column.formula, GivenIntervals)]
        short = [
            (name, formula.dense)
            for name, formula in given
            if formula.dense is not None
            and formula.dense.interval(self.table, 0.95) != formula.interval(self.table, 0.95)
        ]
        if len(self) != 1 or self.looked_at > 1:
            names = ", ".join(name for name, _ in short)
            return (f"{names}: release[name].dense_interval() is shorter, and holds {DENSE}.",) if short else ()
        ends = [(name, *(side[0] for side in dense.interval(self.table, 0.95))) for name, dense in short]
        return tuple(f"{name}: {format_number(low)} to {format_number(high)} {DENSE}." for name, low, high in ends)

    def _unknown_intervals(self) -> tuple[str, ...]:
        """Which quantiles have an interval that says nothing, by the released numbers alone."""
        given = [(column.name, column.formula) for column in self.columns if isinstance(column.formula, GivenIntervals)]
        names = [name for name, formula in given if formula.dense is not None and any(formula.is_unknown(0.95))]
        return (f"{', '.join(names)}: {UNKNOWN}",) if names else ()

    def __str__(self) -> str:
        from hubbub.releases import text

        return text.release_text(self)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        from hubbub.releases import html as _html

        return _html.release_fragment(self)

    def html(self) -> str:
        """A whole page that needs nothing else: no script, no font, no network."""
        from hubbub.releases import html as _html

        return _html.release_page(self)

    def chart(self, name: str | None = None, *, confidence: float = 0.95) -> str:
        """A column as bars with error bars (SVG); the first noisy one if none is named."""
        from hubbub.releases import html as _html

        return _html.column_chart(self, name, confidence=confidence)

    def rounded(self) -> Rounded:
        """The same to look at: as many digits as the noise leaves, and no counts below 0."""
        from hubbub.releases.rounded import Rounded

        return Rounded(self)

    def sheet(self, *, confidence: float = 0.95) -> PublicationSheet:
        """The publication sheet: methods, parameters, guarantee and citations, in Markdown, HTML and JSON."""
        from hubbub.releases.publication_sheet import PublicationSheet

        return PublicationSheet(self, confidence)

    # ------------------------------------------------------------ other forms

    def to_arrow(self, *, intervals: bool = True, confidence: float = 0.95) -> pyarrow.Table:
        """An Arrow table; a noisy column n comes with n_low and n_high."""
        from hubbub.releases import frames

        return frames.arrow_table(self, intervals=intervals, confidence=confidence)

    def to_pandas(self, *, intervals: bool = True, confidence: float = 0.95) -> pandas.DataFrame:
        """A pandas frame of the same columns."""
        from hubbub.releases import frames

        return frames.pandas_frame(self, intervals=intervals, confidence=confidence)

    def to_polars(self, *, intervals: bool = True, confidence: float = 0.95) -> polars.DataFrame:
        """A polars frame of the same columns."""
        from hubbub.releases import frames

        return frames.polars_frame(self, intervals=intervals, confidence=confidence)

    def to_csv(self, *, intervals: bool = True, confidence: float = 0.95) -> str:
        """The same columns as CSV, missing values empty."""
        from hubbub.releases import frames

        return frames.csv_text(self, intervals=intervals, confidence=confidence)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """The answer for any library that reads Arrow streams, intervals included."""
        return self.to_arrow().__arrow_c_stream__(requested_schema)

    def to_json(self) -> dict[str, Any]:
        """The stored form: plain JSON from which ``from_json`` makes the same release again, exactly."""
        from hubbub.releases import json_form

        return json_form.encode_release(self)

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Release:
        """The release that a stored form says."""
        from hubbub.releases import json_form

        return json_form.decode_release(document)
