"""Where things stand in a TOML text, and refusals that point there.

``tomllib`` reads values and forgets their places. ``scan_positions`` goes over a text that it accepts once more and
notes, for every key path (``tables``, ``visits``, ``columns``, ``cost``, ``upper``), where key and value stand.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from difflib import get_close_matches
from os import PathLike
from pathlib import Path as FilePath
from typing import NoReturn

from hubbub.terms import BadDescriptor

Path = tuple[str | int, ...]  # keys from the top; a number is a place in an array

_BLANK = re.compile(r"(?:[ \t\n\r]|#[^\n]*)*")
_SPACE = re.compile(r"[ \t]*")
_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")
_STRING = re.compile(
    r'"""(?:\\.|[^\\])*?"""(?:"{0,2})' r"|'''.*?'''(?:'{0,2})" r'|"(?:\\.|[^"\\\n])*"' r"|'[^'\n]*'", re.DOTALL
)
_PLAIN = re.compile(r"\d{4}-\d\d-\d\d \d\d:[^,\]}#\s]*|[^,\]}#\s]+")  # a date and a time may have a blank between them
_SECRET = re.compile(r"(?<=://)[^/@\s\"']+(?=@)|(?<=password=)[^\s\"']+")  # never quoted, not even to the owner's log
_PLACE = re.compile(r" *\(at (?:line (\d+), column (\d+)|end of document)\)$")


@dataclass(frozen=True, slots=True)
class Span:
    """Where a key and its value begin and end; a table has no value of its own, and both are its header."""

    key: tuple[int, int]
    value: tuple[int, int]


@dataclass(frozen=True, slots=True)
class TomlText:
    """A TOML text and the name of its file, for messages."""

    name: str
    text: str

    @classmethod
    def read(cls, path: str | PathLike[str], *, called: str, why: str, fix: str) -> TomlText:
        """The text of a file, which is called so in the refusal of one that cannot be read."""
        file = FilePath(path)
        try:
            text = file.read_text(encoding="utf-8-sig")
        except (OSError, UnicodeDecodeError) as error:
            problem = "is not UTF-8 text" if isinstance(error, UnicodeDecodeError) else "cannot be opened"
            raise BadDescriptor(f"the {called} {file.name!r} {problem}.", why=why, fix=fix) from None
        return cls(file.name, text.replace("\r\n", "\n"))

    def load(self, *, numbers: Callable[[str], object] = Decimal) -> dict[str, object]:
        """What the text says, with numbers as typed; a text that is no TOML is refused at the place."""
        content: dict[str, object] = {}
        try:
            content = tomllib.loads(self.text, parse_float=numbers)
        except tomllib.TOMLDecodeError as error:
            self._refuse_syntax(str(error))
        except (ValueError, ArithmeticError, RecursionError):
            self._refuse_syntax("A number has too many digits, or brackets nest too deeply (at line 1, column 1)")
        return content

    def refuse(self, path: Path, what: str, *, why: str, fix: str, key: bool = False) -> NoReturn:
        """Raise ``BadDescriptor`` with the place of the path's value, or key, or of the nearest thing above it."""
        start, end = self.place(path, key=key)
        raise BadDescriptor(f"{what} At {self.words(start, end)}", why=why, fix=fix) from None

    def place(self, path: Path, *, key: bool = False) -> tuple[int, int]:
        """Where the path's value, or key, begins and ends; if there is no such path, the nearest above it."""
        spans = scan_positions(self.text)
        known = next((path[:size] for size in range(len(path), 0, -1) if path[:size] in spans), None)
        if known is None:
            return 0, 0
        span = spans[known]
        return span.key if key or known != path else span.value

    def words(self, start: int, end: int) -> str:
        """File, line and column; the line itself; a mark under the stretch."""
        line = self.text.count("\n", 0, start) + 1
        column = start - (self.text.rfind("\n", 0, start) + 1)
        whole = self.text.split("\n")[line - 1]
        hidden = _SECRET.sub(lambda match: "*" * len(match[0]), whole)
        shown = "".join(sign if sign.isprintable() else " " for sign in hidden).rstrip()
        width = max(1, min(end - start, len(shown) - column))
        return f"{self.name}:{line}:{column + 1}:\n    {shown}\n    {' ' * column}{'^' * width}"

    def _refuse_syntax(self, problem: str) -> NoReturn:
        match = _PLACE.search(problem)
        start = len(self.text.rstrip("\n"))
        if match and match[1]:
            before = self.text.split("\n")[: int(match[1]) - 1]
            start = sum(len(line) + 1 for line in before) + int(match[2]) - 1
        message = _PLACE.sub("", problem)
        what = f"this is not TOML: {message[:1].lower()}{message[1:]}."
        if self.text[start : start + 1] == "?":
            what = "a blank is not filled in yet."
        raise BadDescriptor(
            f"{what} At {self.words(start, start + 1)}",
            why="Nothing can be read from the file until all of it can be read.",
            fix="Mend that line. Text stands in quotes, dates and numbers do not.",
        ) from None


@dataclass(frozen=True, slots=True)
class TomlTable:
    """A table of the document, and where it stands: values are taken out of it with the type they must have."""

    text: TomlText
    path: Path
    content: Mapping[str, object]

    def refuse(self, name: str, what: str, *, why: str, fix: str, key: bool = False) -> NoReturn:
        """Refuse at the value of the key, or, with ``key``, at the key itself."""
        self.text.refuse((*self.path, name), what, why=why, fix=fix, key=key)

    def only(self, *names: str) -> None:
        """Refuse any key but these."""
        for name in self.content:
            if name not in names:
                where = ".".join(map(str, self.path)) or "the descriptor"
                self.refuse(
                    name,
                    f"{where} has no key {name!r}.{did_you_mean(name, names)}",
                    why="A misspelt key would leave something undeclared without a word.",
                    fix=f"Use one of: {', '.join(names)}.",
                    key=True,
                )

    def words(self, name: str, default: str = "") -> str:
        """The text under the key, on one line."""
        value = self.content.get(name, default)
        if not isinstance(value, str) or not value.isprintable():
            self._mistyped(name, "one line of text in quotes")
        return value

    def sentence(self, name: str) -> str:
        """The words under the key, in which lines may be broken."""
        value = self.content.get(name, "")
        line = " ".join(value.split()) if isinstance(value, str) and "\n" in value else value
        return TomlTable(self.text, self.path, {name: line}).words(name)

    def count(self, name: str) -> int | None:
        """The whole number under the key, at least 1."""
        value = self.content.get(name)
        if value is not None and (not isinstance(value, int) or isinstance(value, bool) or value < 1):
            self._mistyped(name, "a whole number of at least 1")
        return value

    def flag(self, name: str) -> bool:
        """The truth value under the key; false if there is none."""
        value = self.content.get(name, False)
        if not isinstance(value, bool):
            self._mistyped(name, "true or false")
        return value

    def section(self, name: str) -> TomlTable:
        """The table under the key; an empty one if there is none."""
        value = self.content.get(name, {})
        if not isinstance(value, dict):
            self._mistyped(name, "a table: [header] or { key = value }")
        return TomlTable(self.text, (*self.path, name), value)

    def sections(self) -> Iterator[tuple[str, TomlTable]]:
        """Every key, each of which must hold a table."""
        return ((name, self.section(name)) for name in self.content)

    def _mistyped(self, name: str, wanted: str) -> NoReturn:
        self.refuse(
            name,
            f"{name} must be {wanted}.",
            why="What is declared is read as it stands, and never guessed from another type.",
            fix=f"Write {name} as {wanted}, or leave the line out.",
        )


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """A suggestion, with a blank in front, if a known name is close."""
    close = get_close_matches(name.lower(), {other.lower(): other for other in known}, n=1)
    return next((f" Did you mean {str(other)!r}?" for other in known if close and other.lower() == close[0]), "")


def scan_positions(text: str) -> Mapping[Path, Span]:
    """Where each key path stands in a text that ``tomllib`` accepts.

    >>> text = "[tables.visits]\\ncost = { upper = 5 }\\n"
    >>> start, end = scan_positions(text)["tables", "visits", "cost", "upper"].value
    >>> text[start:end]
    '5'
    """
    scanner = _Scanner(text)
    scanner.document()
    return scanner.found


class _Scanner:
    """One walk over the text; ``at`` is where it has come to."""

    def __init__(self, text: str) -> None:
        self.text, self.at = text, 0
        self.found: dict[Path, Span] = {}
        self._lengths: dict[Path, int] = {}  # of arrays of tables, so far

    def document(self) -> None:
        """Headers and the pairs under each."""
        above: Path = ()
        self._skip(_BLANK)
        while self.at < len(self.text):
            if self.text.startswith("[", self.at):
                above = self._header()
            else:
                self._pair(above)
            self._skip(_BLANK)

    def _header(self) -> Path:
        several = self.text.startswith("[[", self.at)
        self.at += 1 + several
        keys = self._keys()
        self.at += 1 + several
        span = (keys[0][1], keys[-1][2])
        path: Path = ()
        for name, start, end in keys:
            path = self._newest((*path, name)) if (name, start, end) != keys[-1] else (*path, name)
            self.found.setdefault(path, Span((start, end), (start, end)))
        if several:
            self._lengths[path] = self._lengths.get(path, 0) + 1
            path = self._newest(path)
        self.found[path] = Span(span, span)
        return path

    def _newest(self, path: Path) -> Path:
        """Below an array of tables, its last element is meant."""
        return (*path, self._lengths[path] - 1) if path in self._lengths else path

    def _pair(self, above: Path) -> None:
        keys = self._keys()
        path = above
        for name, start, end in keys:
            path = (*path, name)
            self.found.setdefault(path, Span((start, end), (start, end)))
        self.at += 1  # the sign =
        self._skip(_SPACE)
        _, start, end = keys[-1]
        self.found[path] = Span((start, end), self._value(path))

    def _keys(self) -> list[tuple[str, int, int]]:
        """A dotted key: each part as it is meant, and where it stands."""
        parts = []
        while True:
            self._skip(_SPACE)
            start = self.at
            quoted = self.text[start] in "\"'"
            self._skip(_STRING if quoted else _BARE_KEY)
            raw = self.text[start : self.at]
            parts.append((tomllib.loads(f"key = {raw}")["key"] if quoted else raw, start, self.at))
            self._skip(_SPACE)
            if not self.text.startswith(".", self.at):
                return parts
            self.at += 1

    def _value(self, path: Path) -> tuple[int, int]:
        start = self.at
        sign = self.text[start]
        if sign == "[":
            self._items("]", lambda place: self._note(path, place))
        elif sign == "{":
            self._items("}", lambda _: self._pair(path))
        else:
            self._skip(_STRING if sign in "\"'" else _PLAIN)
        return start, self.at

    def _items(self, closing: str, item: Callable[[int], None]) -> None:
        """What stands between brackets, part by part."""
        self.at += 1
        self._skip(_BLANK)
        place = 0
        while not self.text.startswith(closing, self.at):
            item(place)
            place += 1
            self._skip(_BLANK)
            if self.text.startswith(",", self.at):
                self.at += 1
                self._skip(_BLANK)
        self.at += 1

    def _note(self, path: Path, place: int) -> None:
        inside = (*path, place)
        span = self._value(inside)
        self.found[inside] = Span(span, span)

    def _skip(self, pattern: re.Pattern[str]) -> None:
        match = pattern.match(self.text, self.at)
        assert match is not None, "tomllib accepts what this cannot read"
        self.at = match.end()
