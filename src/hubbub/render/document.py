"""A document: sections with tables and figures, as text in a terminal, HTML in a notebook or a file, and JSON."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from hubbub.render import html as _html
from hubbub.render import text as _text

Json: TypeAlias = "Mapping[str, Json] | Sequence[Json] | str | int | float | bool | None"


@dataclass(frozen=True, slots=True)
class TextTable:
    """Rows of words under column headings."""

    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True)
class Figure:
    """A picture: its file name, its SVG, a caption, and the same drawn in plain text (empty if words suffice)."""

    name: str
    svg: str
    caption: str
    plain: str = ""


@dataclass(frozen=True, slots=True)
class Section:
    """A heading, what is said under it, and what is shown."""

    heading: str
    paragraphs: tuple[str, ...]
    table: TextTable | None = None
    figure: Figure | None = None


class Document(ABC):
    """What every explanation can do: be read in a terminal, a notebook, a browser, or by a program."""

    __slots__ = ()

    def __init_subclass__(cls) -> None:
        """A document at the prompt is its text, also where a dataclass would list its fields."""
        super().__init_subclass__()
        if "__repr__" not in vars(cls):
            cls.__repr__ = Document.__repr__  # type: ignore[method-assign]

    @property
    @abstractmethod
    def title(self) -> str:
        """What is explained."""

    @abstractmethod
    def sections(self) -> tuple[Section, ...]:
        """The explanation, part by part."""

    @abstractmethod
    def to_json(self) -> dict[str, Json]:
        """The numbers and sentences as one JSON document."""

    def text(
        self,
        *,
        width: int = 80,
        emphasis: Callable[[str], str] = str,
        draw_table: Callable[[TextTable], str] = _text.format_table,
    ) -> str:
        """The document in ``width`` columns; headings go through ``emphasis``, tables through ``draw_table``."""
        return _text.format_document(self.title, self.sections(), width=width, emphasis=emphasis, draw_table=draw_table)

    def html(self) -> str:
        """A whole accessible page that needs nothing else: no script, no font, no network."""
        return _html.render_page(self.title, self.sections())

    def svgs(self) -> dict[str, str]:
        """The pictures by name."""
        figures = [section.figure for section in self.sections() if section.figure]
        return {figure.name: figure.svg for figure in figures}

    def __repr__(self) -> str:
        return self.text()

    def _repr_html_(self) -> str:
        return _html.render_fragment(self.title, self.sections())
