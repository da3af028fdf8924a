"""Typed expressions over private columns, what is known of their values, and who a person is; one dialect per engine.

``expressions`` and ``value_facts`` hold bounds, ``person`` tells people apart, ``limits`` bounds work, the printers
write in the words of ``dialects``. Nothing here runs a statement. Start with ``expressions``.
"""

from hubbub.relations import limits
from hubbub.relations.bucket_numbers import bucket_number
from hubbub.relations.casts import TARGETS, CastTarget, can_cast
from hubbub.relations.column_images import half_away
from hubbub.relations.column_printer import stored_column
from hubbub.relations.dialects import DIALECTS, Dialect
from hubbub.relations.expressions import Expr, ValueFacts, column, kind_of, literal, place_of, readable, renamed, shown
from hubbub.relations.moments import SHORT_UNITS, DateShift, is_short, time_signs
from hubbub.relations.native_types import form_of, is_kind, kind_of_type, shown_type
from hubbub.relations.number_types import DOUBLE, INTEGER, MOST_DIGITS
from hubbub.relations.patterns import BadPattern, TextPattern, read_pattern
from hubbub.relations.person import (
    TableOwner,
    check_ids,
    column_named,
    is_direct,
    link_form,
    owner_of,
    person_form,
)
from hubbub.relations.possible_values import count_values, list_values, under_condition
from hubbub.relations.printer import print_expression, print_relation, print_shared
from hubbub.relations.text_work import characters_looked_at, characters_made, check_made, works_on_text
from hubbub.relations.value_facts import build, date_at, shifted

__all__ = [
    "DIALECTS",
    "DOUBLE",
    "INTEGER",
    "MOST_DIGITS",
    "SHORT_UNITS",
    "TARGETS",
    "BadPattern",
    "CastTarget",
    "DateShift",
    "Dialect",
    "Expr",
    "TableOwner",
    "TextPattern",
    "ValueFacts",
    "bucket_number",
    "build",
    "can_cast",
    "characters_looked_at",
    "characters_made",
    "check_ids",
    "check_made",
    "column",
    "column_named",
    "count_values",
    "date_at",
    "form_of",
    "half_away",
    "is_direct",
    "is_kind",
    "is_short",
    "kind_of",
    "kind_of_type",
    "limits",
    "link_form",
    "list_values",
    "literal",
    "owner_of",
    "person_form",
    "place_of",
    "print_expression",
    "print_relation",
    "print_shared",
    "read_pattern",
    "readable",
    "renamed",
    "shifted",
    "shown",
    "shown_type",
    "stored_column",
    "time_signs",
    "under_condition",
    "works_on_text",
]
