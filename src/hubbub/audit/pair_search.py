"""Searching for bad neighbours: a look at many pairs with few runs, then an audit of the worst with many."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from hubbub.audit._sampling import Mechanism
from hubbub.audit.black_box import FEWEST, MOST, examine
from hubbub.audit.report import Audit
from hubbub.explain import Document, Section, TextTable
from hubbub.render import Json
from hubbub.terms import EmptyInput, whole

_FINALISTS = 4


@dataclass(frozen=True, slots=True)
class Search(Document):
    """The audit of the worst pair that was found, and what a first look at every pair said."""

    audit: Audit
    pair: tuple[Any, Any]
    pair_name: str
    looks: tuple[tuple[str, float | None], ...]  # (pair, rough bound of a first look; None: no bound)

    @property
    def title(self) -> str:
        """What was searched."""
        return f"A search for bad neighbours: {self.audit.name}"

    @property
    def bound(self) -> float | None:
        """The lower bound for the worst pair, from fresh runs."""
        return self.audit.bound

    @property
    def refuted(self) -> bool:
        """Whether the claim was refuted."""
        return self.audit.refuted

    def sections(self) -> tuple[Section, ...]:
        """The audit, then the search."""
        ranked = sorted(self.looks, key=lambda look: -(look[1] or 0.0))
        rows = tuple((name, "no bound" if bound is None else f"{bound:.2f}") for name, bound in ranked)
        words = (
            f"The audit is of this pair: {self.pair_name}. It was chosen by a first look at all pairs with few runs, "
            "which prove nothing; the audit has fresh ones."
        )
        table = TextTable(("pair", "first look: about"), rows)
        return (*self.audit.sections(), Section("How the pair was found", (words,), table))

    def to_json(self) -> dict[str, Json]:
        """The numbers as one JSON document."""
        looks = [{"pair": name, "about": bound} for name, bound in self.looks]
        return {**self.audit.to_json(), "kind": "audit-search", "pair": self.pair_name, "looks": looks}


def search(
    mechanism: Mechanism,
    pairs: Mapping[str, tuple[Any, Any]] | Iterable[tuple[Any, Any]],
    *,
    trials: int = 100_000,
    looks: int = 4_000,
    name: str | None = None,
    **options: Any,
) -> Search:
    """Look at every pair with ``looks`` runs, at the worst few with five times as many, and audit the worst one.

    ``pairs`` are neighbouring inputs, by name or in any order; ``hubbub.audit.neighbour_pairs`` has patterns that are
    known to be bad, and a generator of random pairs will do. All other options are those of ``examine``.

    Guarantee: as for one audit: the bound exceeds epsilon with probability at most 1 - ``confidence``, however many
    pairs were looked at.
    Because: [DWWZK18]: the pair is fixed before the runs that are counted; see docs/proofs/audit.md.
    Not covered: pairs that were not given.
    """
    named = dict(pairs) if isinstance(pairs, Mapping) else {f"pair {i + 1}": pair for i, pair in enumerate(pairs)}
    if not named:
        raise EmptyInput("there are no pairs to search.", why="An audit needs two inputs.", fix="Give some pairs.")
    runs = whole(trials, name="trials", least=FEWEST, most=MOST)
    few = max(FEWEST, min(whole(looks, name="looks"), runs))
    title = name or str(getattr(mechanism, "__name__", type(mechanism).__name__))

    def look(who: str, times: int) -> float | None:
        return examine(mechanism, *named[who], trials=times, **{**options, "confidence": 0.5, "claim": None}).bound

    first = {who: look(who, few) for who in named}
    best = sorted(named, key=lambda who: -_comparable_bound(first[who]))[:_FINALISTS]
    again = {who: look(who, min(5 * few, runs)) for who in best} if len(best) > 1 else dict.fromkeys(best, 0.0)
    worst = max(best, key=lambda who: _comparable_bound(again[who]))
    audit = examine(mechanism, *named[worst], trials=runs, name=title, **options)
    return Search(audit, named[worst], worst, tuple(first.items()))


def _comparable_bound(bound: float | None) -> float:
    return -1.0 if bound is None else bound
