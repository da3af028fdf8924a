"""``hubbub predict``: a saved private model, used on new rows."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hubbub.cli.options.pages import AsJson, PageOptions
from hubbub.cli.output import streams as output

if TYPE_CHECKING:
    from hubbub.learn.tables import Cells, TableModel


def predict(
    model: Annotated[Path, typer.Argument(help="A model that `hubbub fit --out` wrote.", metavar="MODEL")],
    file: Annotated[Path, typer.Argument(help="A CSV or Parquet file with the model's columns.", metavar="FILE")],
    chances: Annotated[bool, typer.Option("--chances", help="Also the probability of each class.")] = False,
    card: Annotated[bool, typer.Option("--card", help="Print the model's card instead of predicting.")] = False,
    as_json: AsJson = False,
) -> None:
    """Predict for each row of a file, in its order, as CSV. Predictions about private rows are private."""
    from hubbub.cli.output.model_files import card_of
    from hubbub.learn.tables import public_cells

    table_model = _table_model(model)
    if card:
        PageOptions(as_json=as_json).show(card_of(table_model))
        return
    cells = public_cells(file, [each.name for each in table_model.columns])
    output.talk(table_model.guarantee.describe())
    rows = _predict_rows(table_model, cells, chances=chances)
    if as_json:
        output.print_json({"kind": "predictions", "target": table_model.target.name, "rows": rows})
    else:
        output.print_data(_format_csv(rows))


def _table_model(file: Path) -> TableModel:
    from hubbub.learn import load
    from hubbub.learn.tables import TableModel
    from hubbub.terms import Unreadable

    loaded = load(file)
    if isinstance(loaded, TableModel):
        return loaded
    raise Unreadable(
        f"{file.name} holds an estimator that reads arrays, and no model of a table.",
        why="It does not say how the cells of a file become numbers.",
        fix="Use it in Python with hubbub.learn.load, or make a model with `hubbub fit --out`.",
    )


def _predict_rows(model: TableModel, cells: Cells, *, chances: bool) -> list[dict[str, Any]]:
    name = model.target.name
    rows = [{name: value} for value in model.predict(cells).tolist()]
    if chances:
        for row, each in zip(rows, model.predict_proba(cells).tolist(), strict=True):
            row.update({f"{name}={word}": chance for word, chance in zip(model.estimator.classes_, each, strict=True)})
    return rows


def _format_csv(rows: list[dict[str, Any]]) -> str:
    held = io.StringIO()
    writer = csv.DictWriter(held, fieldnames=list(rows[0]) if rows else [], lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return held.getvalue()
