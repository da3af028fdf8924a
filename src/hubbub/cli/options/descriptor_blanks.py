"""The blanks of a drafted descriptor, filled in with what somebody said."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from fractions import Fraction

import typer

from hubbub.cli.options.source_facts import parse_bounds, parse_budget, parse_header, read_keys, split_keys
from hubbub.engines import Schemas, schemas_of
from hubbub.schema import budget_toml, key_of, quoted, toml

Blanks = Mapping[tuple[str, str], str]  # (section, key) -> the value as TOML

_BLANK = re.compile(r'# ("(?:[^"\\]|\\.)*"|[A-Za-z0-9_-]+) = ')
_COLUMN = 40  # where remarks begin


@dataclass(frozen=True, slots=True)
class FileFacts:
    """What somebody says about a file."""

    file: str
    unit: str | None
    max_rows: int | None
    budget: str | None
    bounds: tuple[str, ...]
    keys: tuple[str, ...]
    header: str | None = None

    def named(self) -> list[str]:
        """Every column that is spoken of."""
        unit = [] if self.unit in (None, "row") else [str(self.unit).rpartition(".")[2]]
        return [*unit, *self._declared()]

    def schemas(self) -> Schemas:
        """The tables of the file."""
        header = None if self.header is None else parse_header(self.header)
        return schemas_of(self.file, named=self.named(), header=header)

    def columns(self) -> list[str]:
        """The names of the columns, as the file has them."""
        return [name for columns in self.schemas().values() for name, _ in columns]

    def blanks(self) -> Blanks:
        """The values by the blanks that they belong to."""
        blanks = {("columns", self._spelled(name)): value for name, value in self._declared().items()}
        if self.unit is not None:
            blanks["privacy", "unit"] = quoted(self._whole_unit(self.unit))
        if self.header is not None:
            names = parse_header(self.header)
            blanks["table", "header"] = "true" if names is True else f"[{', '.join(map(quoted, names or ()))}]"
        if self.max_rows is not None:
            blanks["table", "max_rows_per_unit"] = str(self.max_rows)
        if self.budget is not None:
            blanks["privacy", "budget"] = budget_toml(parse_budget(self.budget)).partition("=")[2].strip()
        return blanks

    def _whole_unit(self, unit: str) -> str:
        """The unit with its table: the one that is named, or the first that has the column."""
        if unit == "row":
            return unit
        wanted, _, name = unit.rpartition(".")
        column = self._spelled(name)
        having = [table for table, columns in self.schemas().items() if column in dict(columns)]
        return f"{next((table for table in having if table.lower() == wanted.lower()), having[0])}.{column}"

    def _spelled(self, name: str) -> str:
        spelled = next((column for column in self.columns() if column.lower() == name.lower()), None)
        if spelled is None:
            raise typer.BadParameter(f"{self.file} has no column '{name}'; it has {', '.join(self.columns())}.")
        return spelled

    def _declared(self) -> dict[str, str]:
        """What is declared of columns, as TOML."""
        parts: dict[str, list[str]] = {}
        for name, ends in map(parse_bounds, self.bounds):
            numbers = [toml(end if isinstance(end, date) else Fraction(end)) for end in ends]
            bounds = zip(("lower", "upper", "step"), numbers, strict=False)
            parts.setdefault(name, []).extend(f"{end} = {number}" for end, number in bounds)
        for name, words in map(split_keys, self.keys):
            shown = ", ".join(map(toml, read_keys(words)))
            parts.setdefault(name, []).append(f"values = [{shown}]")
        return {name: f"{{ {', '.join(bounds)} }}" for name, bounds in parts.items()}


def fill_blanks(text: str, blanks: Blanks) -> str:
    """A draft in which these blanks are filled in; the others stay as they are."""
    lines, section = [], ""
    for line in text.split("\n"):
        if line.startswith("["):
            section = _section_kind(line)
        blank = _BLANK.match(line)
        value = blanks.get((section, _unquote_key(blank[1]))) if blank else None
        lines.append(
            line if blank is None or value is None else _fill_line(line, section, _unquote_key(blank[1]), value)
        )
    return "\n".join(lines)


def _section_kind(header: str) -> str:
    """privacy, table, columns, or another."""
    if header.endswith(".columns]"):
        return "columns"
    return "table" if header.startswith("[tables.") else header.strip("[]")


def _unquote_key(key: str) -> str:
    return str(json.loads(key)) if key.startswith('"') else key


def _fill_line(line: str, section: str, key: str, value: str) -> str:
    """``# key = ?    # remark`` with the value in its place; a column's remark is about the blank alone."""
    assignment, (_, _, remark) = f"{key_of(key)} = {value}", line[2:].partition("    # ")
    return assignment if section == "columns" or not remark else f"{assignment:<{_COLUMN}} # {remark.strip()}"
