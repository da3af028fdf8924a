"""The strict form of a configuration, field by field: one table (``js/forms.json``) that all clients follow.

A form names every field and what it must be; a field that is missing, unknown or of another kind is refused before
anything is worked out from it. A number is never text and text never a number: a client that adds where another one
writes side by side would randomize less than it was told. What the fields mean together (that thresholds are those of
epsilon, for instance) is checked after this, by making the randomizer.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

from hubbub.local.randomizers.common.exact_words import WORD
from hubbub.local.randomizers.common.values import LARGEST_BOUND, LARGEST_EPSILON, SMALLEST_BOUND, SMALLEST_EPSILON
from hubbub.terms import HubbubError, plain_text

TABLE = Path(__file__).parent / "js" / "forms.json"
_NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,62}")
_DIGITS = re.compile(r"[0-9a-f]*")
_WHOLE = re.compile(r"0|[1-9][0-9]{0,19}")
_RATIONAL = re.compile(r"[1-9][0-9]{0,39}(/[1-9][0-9]{0,39})?")
_BOUND = re.compile(r"0|-?[1-9][0-9]{0,319}(/[1-9][0-9]{0,319})?")
_LONGEST_ANSWER = 1000


@cache
def form_table() -> dict[str, Any]:
    """The forms of a signed text, of a collection and of every law."""
    forms: dict[str, Any] = json.loads(TABLE.read_text(encoding="utf-8"))
    return forms


def find_misfit(form: str, document: object) -> str | None:
    """The first field of a document that is not as its form says (None if all are): a public fact, for an error.

    >>> find_misfit("signed", {"hubbub": "signed-collection/1", "collection": "{}", "key": "0" * 64, "signature": 5})
    'signature'
    """
    return _first_misfit(form_table()[form], document)


def misfit_of_law(law: object) -> str | None:
    """The first field of a law that is not as its protocol's form says."""
    protocol = law.get("protocol") if isinstance(law, dict) else None
    forms = form_table()["laws"]
    if not isinstance(protocol, str) or protocol not in forms:
        return "protocol"
    return _first_misfit({"protocol": ["is", protocol], **forms[protocol]}, law)


def without_doubles(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """For ``json.loads``: of two fields with one name, clients could read either; refused (ValueError)."""
    fields = dict(pairs)
    if len(fields) != len(pairs):
        raise ValueError("two fields have one name")
    return fields


def _first_misfit(form: Mapping[str, Any], document: object) -> str | None:
    if not isinstance(document, dict):
        return "document"
    if strange := sorted(str(name) for name in document if name not in form):
        return strange[0] if _NAME.fullmatch(strange[0]) else "unknown"
    return next((name for name in form if name not in document or not _value_fits(form[name], document[name])), None)


def _value_fits(kind: str | list[Any], value: Any) -> bool:
    name, *limits = [kind] if isinstance(kind, str) else kind
    return _KINDS[name](value, *limits)


def _is_text(value: Any, wanted: str) -> bool:
    return type(value) is str and value == wanted


def _is_whole(value: Any, least: int, most: int) -> bool:
    return type(value) is int and least <= value <= most


def _is_line(value: Any, longest: int) -> bool:
    """A line that shows what it says, in the one form that Unicode has for it (two answers must not look alike)."""
    if type(value) is not str or not value or unicodedata.normalize("NFC", value) != value:
        return False
    try:
        plain_text(value, longest=longest)
    except HubbubError:
        return False
    return True


def _are_lines(value: Any) -> bool:
    return (
        type(value) is list and all(_is_line(each, _LONGEST_ANSWER) for each in value) and len(set(value)) == len(value)
    )


def _is_rational(value: Any) -> bool:
    """A number above 0, in lowest terms."""
    return type(value) is str and _RATIONAL.fullmatch(value) is not None and str(Fraction(value)) == value


def _is_epsilon(value: Any) -> bool:
    return _is_rational(value) and SMALLEST_EPSILON <= Fraction(value) <= LARGEST_EPSILON


def _is_bound(value: Any) -> bool:
    if type(value) is not str or not _BOUND.fullmatch(value) or str(Fraction(value)) != value:
        return False
    return value == "0" or SMALLEST_BOUND <= abs(Fraction(value)) <= LARGEST_BOUND


def _are_thresholds(value: Any, count: int) -> bool:
    return type(value) is list and len(value) == count and all(_of_a_word(each) for each in value)


def _is_matrix(value: Any, most: int) -> bool:
    if type(value) is not list or len(value) < 2 or not all(type(row) is list for row in value):
        return False
    widths = {len(row) for row in value}
    return len(widths) == 1 and 2 <= min(widths) <= most and all(_of_a_word(mass) for row in value for mass in row)


def _of_a_word(value: Any) -> bool:
    return type(value) is str and _WHOLE.fullmatch(value) is not None and int(value) <= WORD


_KINDS: dict[str, Callable[..., bool]] = {
    "is": _is_text,
    "text": lambda value: type(value) is str,
    "digits": lambda value, size: type(value) is str and len(value) == size and bool(_DIGITS.fullmatch(value)),
    "name": lambda value: type(value) is str and bool(_NAME.fullmatch(value)),
    "line": _is_line,
    "lines": _are_lines,
    "law": lambda value: misfit_of_law(value) is None,
    "whole": _is_whole,
    "rational": _is_rational,
    "epsilon": _is_epsilon,
    "bound": _is_bound,
    "truth": lambda value: type(value) is bool,
    "coins": _are_thresholds,
    "matrix": _is_matrix,
}
