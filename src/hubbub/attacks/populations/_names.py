"""Invented names, all different: two first names' worth of syllables and a family name made of three."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import pyarrow

_WOMEN = ("Ada", "Bea", "Cora", "Dina", "Edith", "Flora", "Greta", "Hanna", "Ines", "Jana", "Klara", "Lena")
_MEN = ("Adam", "Bill", "Carl", "David", "Emil", "Finn", "Georg", "Hugo", "Ivan", "Jonas", "Karim", "Louis")
_HEADS = ("Al", "Bar", "Cal", "Dor", "El", "Fal", "Gar", "Hol", "Ir", "Jun", "Kel", "Lan", "Mar", "Nor", "Os", "Pel")
_HEARTS = ("a", "ba", "da", "de", "di", "fe", "ga", "go", "la", "le", "li", "lo", "ma", "me", "mi", "mo", "na", "ne")
_TAILS = ("bach", "berg", "court", "dale", "field", "ford", "gard", "holm", "horn", "land", "ley", "lund", "man", "mer")
_MORE = ("", "son", "sen", "ski", "stone", "ton", "ville", "well", "wick", "wood", "worth", "by", "den", "gate")


def invent_names(men: NDArray[np.int64], rng: np.random.Generator, *, first: str) -> pyarrow.Array:
    """One name per person, no two alike unless there are more people than names; ``first`` names the first."""
    import pyarrow as pa
    import pyarrow.compute as pc

    given = pa.array([*_WOMEN, *_MEN])
    place = rng.permutation(len(men))
    parts = [given.take(pa.array(place % len(_WOMEN) + len(_WOMEN) * men))]
    parts.append(pa.array([f" {letter}. " for letter in "ABCDEFGHIJKLMNOPQRSTUVWXYZ"]).take(pa.array(place // 12 % 26)))
    rest = place // (12 * 26)
    for syllables in (_HEADS, _HEARTS, _TAILS, _MORE):
        parts.append(pa.array(syllables).take(pa.array(rest % len(syllables))))
        rest //= len(syllables)
    joined = pc.binary_join_element_wise(*parts, "")
    return pa.concat_arrays([pa.array([first]), joined.slice(1)])
