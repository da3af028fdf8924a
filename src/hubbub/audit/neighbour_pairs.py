"""Neighbouring inputs that are known to be bad: patterns to try when nobody knows the worst pair.

Each function returns pairs by name. Patterns of answers follow [DWWZK18, Tab. 1]; those of data put one extreme person
into or out of a crowd that is empty, all alike, or extreme the other way.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from hubbub.terms import EmptyInput, Neighbours, ReversedBounds, whole

Pair = tuple[Any, Any]
Pairs = dict[str, Pair]


def answers(length: int, *, step: float = 1.0) -> Pairs:
    """Lists of query answers of which one person moves each by at most ``step``.

    >>> answers(4)["one up, the rest down"]
    ((1.0, 1.0, 1.0, 1.0), (2.0, 0.0, 0.0, 0.0))
    """
    n, half = whole(length, name="length"), whole(length, name="length") // 2
    base, up, down = step, 2 * step, 0 * step
    flat = (base,) * n
    return {
        "one up": (flat, (up, *flat[1:])),
        "one down": (flat, (down, *flat[1:])),
        "one up, the rest down": (flat, (up, *(down,) * (n - 1))),
        "one down, the rest up": (flat, (down, *(up,) * (n - 1))),
        "half down, half up": (flat, (*(down,) * half, *(up,) * (n - half))),
        "all up": (flat, (up,) * n),
        "alternating": (flat, tuple(up if i % 2 else down for i in range(n))),
        "crossed": ((*(base,) * half, *(down,) * (n - half)), (*(down,) * half, *(base,) * (n - half))),
    }


def numbers(count: int, *, lower: float, upper: float, neighbours: Neighbours | str = "add-remove") -> Pairs:
    """Lists of numbers within bounds that differ in one person."""
    if not lower < upper:
        raise ReversedBounds(
            f"lower must be below upper, and they are {lower:g} and {upper:g}.",
            why="One person could not move anything.",
            fix="Give the declared bounds in order.",
        )
    n = whole(count, name="count")
    middle = (lower + upper) / 2
    crowds = {
        "all low": [lower] * (n - 1),
        "all high": [upper] * (n - 1),
        "half and half": [lower, upper] * ((n - 1) // 2) + [middle] * ((n - 1) % 2),
        "nobody else": [],
    }
    return _with_one(crowds, {"low": lower, "high": upper}, neighbours)


def histograms(bins: int, *, people: int = 10, neighbours: Neighbours | str = "add-remove") -> Pairs:
    """Counts per bin: one person added to an empty, a full or any bin; or moved from one to another."""
    k, many = whole(bins, name="bins"), whole(people, name="people")
    crowds = {"empty": (0,) * k, "all in the first": (many, *(0,) * (k - 1)), "even": (many,) * k}
    pairs: Pairs = {}
    for name, crowd in crowds.items():
        for place in {0, k - 1}:
            more = tuple(count + (i == place) for i, count in enumerate(crowd))
            pairs[f"{name}, one more in bin {place + 1}"] = (crowd, more)
        if Neighbours.parse(neighbours) is Neighbours.REPLACE and k > 1:
            here, there = (tuple(count + (i == place) for i, count in enumerate(crowd)) for place in (0, k - 1))
            pairs[f"{name}, one moved"] = (here, there)
    if Neighbours.parse(neighbours) is Neighbours.REPLACE:
        return {name: pair for name, pair in pairs.items() if name.endswith("moved")}
    return pairs


def tables(
    columns: Mapping[str, tuple[float, float] | Sequence[object]],
    *,
    rows: int = 10,
    neighbours: Neighbours | str = "add-remove",
) -> Pairs:
    """Tables as lists of dictionaries: each column has bounds (a pair of numbers) or a list of values.

    One row with every column at its first or last value joins a crowd in which all are first, or all last.
    """
    if not columns:
        raise EmptyInput("a table needs columns.", why="There is nothing to vary.", fix="Name at least one column.")
    first = {name: domain[0] for name, domain in columns.items()}
    last = {name: domain[-1] for name, domain in columns.items()}
    crowd = whole(rows, name="rows") - 1
    crowds = {"all first": [first] * crowd, "all last": [last] * crowd, "nobody else": []}
    return _with_one(crowds, {"first": first, "last": last}, neighbours)


def _with_one(crowds: Mapping[str, list[Any]], people: Mapping[str, Any], neighbours: Neighbours | str) -> Pairs:
    """One person joins each crowd, or is replaced by another."""
    if Neighbours.parse(neighbours) is Neighbours.REPLACE:
        one, other = people
        change = f"a {one} one for a {other} one"
        return {f"{name}, {change}": ([*c, people[one]], [*c, people[other]]) for name, c in crowds.items()}
    return {f"{name}, a {one} one more": (c, [*c, who]) for name, c in crowds.items() for one, who in people.items()}
