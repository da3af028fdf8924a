"""Tables with named columns, as ``hubbub fit`` reads them: features, a fit with one charge, model files, model cards.

``features`` says what columns become, ``fit_table`` fits, ``model_file`` saves, ``model_form`` says what a file may
hold, ``model_card`` tells. Start with ``fit_table``.
"""

from hubbub.learn.tables.columns_from_schema import Chosen, chosen
from hubbub.learn.tables.features import Category, NumberFeature, Style, codes_of, features_of
from hubbub.learn.tables.fit_table import fit_table
from hubbub.learn.tables.model_card import ModelCard
from hubbub.learn.tables.rows_from_source import Cells, public_cells, reader
from hubbub.learn.tables.table_model import TableModel

__all__ = [
    "Category",
    "Cells",
    "Chosen",
    "ModelCard",
    "NumberFeature",
    "Style",
    "TableModel",
    "chosen",
    "codes_of",
    "features_of",
    "fit_table",
    "public_cells",
    "reader",
]
