"""Writing models and their cards, and finding out beforehand that it will work."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from hubbub.cli.output import streams as output

if TYPE_CHECKING:
    from hubbub.learn.tables import ModelCard, TableModel

_CARDS = (".html", ".md", ".json", ".txt")


def card_of(model: TableModel) -> ModelCard:
    """The card of a model."""
    from hubbub.learn.tables import ModelCard

    return ModelCard(model)


def write_model(model: TableModel, *, out: Path | None, card: Path | None) -> None:
    """Write the model and its card, where asked."""
    from hubbub.learn import save

    if out is not None:
        _write_file(out, lambda place: save(model, place))
    if card is not None:
        text = _render_card(card_of(model), card.suffix.lower())
        _write_file(card, lambda place: place.write_text(text, encoding="utf-8"))


def _render_card(card: ModelCard, ending: str) -> str:
    if ending == ".html":
        return card.html()
    if ending == ".md":
        return card.markdown()
    if ending == ".json":
        return json.dumps(card.to_json(), indent=2, ensure_ascii=False) + "\n"
    return card.text() + "\n"


def check_writable(place: Path, *, ending: bool) -> None:
    """Refuse what could not be written, before a charge."""
    if ending and place.suffix.lower() not in _CARDS:
        raise typer.BadParameter(f"a card is one of {', '.join(_CARDS)}.", param_hint="--card")
    if place.is_dir() or not os.access(place.parent, os.W_OK):
        raise typer.BadParameter(f"cannot write {place}: no such folder, or it is closed.")


def _write_file(place: Path, write: Callable[[Path], object]) -> None:
    try:
        write(place)
    except OSError as error:
        raise typer.BadParameter(f"cannot write {place}: {error.strerror}") from None
    output.talk(f"wrote {place}")
