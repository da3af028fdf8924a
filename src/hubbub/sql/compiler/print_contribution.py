"""Bounded contributions as the engine's text: each function takes a scope and gives sums in which one person counts so
much and no more.

A scope is a SELECT that gives, for each row, the person (``_hb_u``), keys, and integers. Ranks go by a keyed hash of a
row's own content and then by that content: which of a person's rows are kept depends on that person's rows alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from hubbub.relations import Dialect
from hubbub.sql.compiler.print_rows import PERSON
from hubbub.sql.compiler.query_plan import Bounding, BoundingShape

_HEAVY = f"{PERSON} IN (SELECT {PERSON} FROM heavy)"
_LIGHT = f"{PERSON} NOT IN (SELECT {PERSON} FROM heavy)"


@dataclass(frozen=True, slots=True)
class Contribution:
    """The rows to be added up: the text of the SELECT, its keys, its other columns, and what each total is."""

    text: str
    people: str  # the persons of at least these rows, one row each: cheaper to read where only they are wanted
    keys: tuple[str, ...]
    groups: tuple[str, ...]  # the keys that are groups of the answer; the others are cells of a curve
    columns: tuple[str, ...]
    totals: Mapping[str, str]

    @property
    def names(self) -> list[str]:
        """Keys and columns, each once."""
        return list(dict.fromkeys((*self.keys, *self.columns)))

    def summed(self, source: str) -> str:
        """The totals by key over a source that has the scope's columns."""
        return select([*self.keys, *(f"{text} AS {name}" for name, text in self.totals.items())], source, self.keys)


def select(columns: Sequence[str], source: str, by: Sequence[str] = (), where: str = "") -> str:
    """SELECT columns FROM source [WHERE] [GROUP BY]."""
    text = f"SELECT {', '.join(columns)} FROM {source}"
    text += f" WHERE {where}" if where else ""
    return text + (f" GROUP BY {', '.join(by)}" if by else "")


def with_parts(parts: Mapping[str, str], last: str) -> str:
    """WITH name AS (...), ... last; who is heavy is worked out once, before rows are read for it."""
    named = [f"{name} AS{' MATERIALIZED' if name == 'heavy' else ''} ({text})" for name, text in parts.items()]
    return f"WITH {', '.join(named)} {last}"


def ranked(
    dialect: Dialect, secret: str, by: Sequence[str], carried: Sequence[str], partition: Sequence[str], source: str
) -> str:
    """The rows of a source with their rank ``r`` within the partition."""
    order = [dialect.keyed_hash(secret, list(by)), *by] if by else ["1"]
    over = f"row_number() OVER (PARTITION BY {', '.join(partition)} ORDER BY {', '.join(order)}) AS r"
    return f"SELECT {', '.join((*carried, over))} FROM {source}"


def plain(scope: Contribution) -> str:
    """Nothing to bound: every row is a unit, or the scope has ranks already."""
    return scope.summed(f"({scope.text}) AS scope")


def difference(scope: Contribution, rows: int, dialect: Dialect, secret: str, *, cheap: bool, stored: str) -> str:
    """At most so many rows of one person: all rows, less those over the cap.

    The integers are exact, so the difference is; only people who may have more rows than the cap are ranked. ``stored``
    is a condition that tells these people's rows apart where `prepare` has counted them, else they are found first.
    """
    over = ranked(dialect, secret, scope.names, [PERSON, *scope.names], [PERSON], f"scope WHERE {stored or _HEAVY}")
    dropped = select(
        [*scope.keys, *(f"-({text}) AS {name}" for name, text in scope.totals.items())],
        f"({over}) AS ranked",
        scope.keys,
        f"r > {rows}",
    )
    hint = dialect.inline() if cheap else ""
    parts = [f"scope AS{hint} ({scope.text})"]
    if not stored:
        parts.append(f"heavy AS MATERIALIZED ({scope.people} GROUP BY 1 HAVING count(*) > {rows})")
    parts.append(f"parts AS ({scope.summed('scope')} UNION ALL {dropped})")
    told = [*scope.keys, *(f"coalesce(sum({name}), 0) AS {name}" for name in scope.totals)]
    return f"WITH {', '.join(parts)} {select(told, 'parts', scope.keys)}"


def kept(scope: Contribution, rows: int, dialect: Dialect, secret: str) -> str:
    """At most so many rows of one person: the rows within the cap, put together and then aggregated."""
    carried = [PERSON, *scope.names]
    within = ranked(dialect, secret, scope.names, carried, [PERSON], f"scope WHERE {_HEAVY}")
    return with_parts(
        {
            "scope": scope.text,
            "heavy": f"SELECT {PERSON} FROM scope GROUP BY {PERSON} HAVING count(*) > {rows}",
            "kept": f"{select(carried, 'scope', where=_LIGHT)} UNION ALL "
            f"{select(carried, f'({within}) AS ranked', where=f'r <= {rows}')}",
        },
        scope.summed("kept"),
    )


def by_keys(scope: Contribution, bounding: Bounding, dialect: Dialect, secret: str) -> str:
    """At most so many keys of one person, and so many rows in each of them (KEYS) or in all (ROWS)."""
    per_key = bounding.shape is BoundingShape.KEYS
    rows = bounding.rows_per_key if per_key else bounding.rows
    groups, carried = list(scope.groups), [PERSON, *scope.names]
    counted = select([PERSON, *groups, "count(*) AS n"], "scope", [PERSON, *groups])
    over = f"count(*) > {bounding.keys} OR {'max' if per_key else 'sum'}(n) > {rows}"
    order = ", ".join([dialect.keyed_hash(secret, groups), *groups]) if groups else "1"
    rank = f"dense_rank() OVER (PARTITION BY {PERSON} ORDER BY {order}) AS g"
    partition = [PERSON, *groups] if per_key else [PERSON]
    within = ranked(dialect, secret, scope.names, carried, partition, f"numbered WHERE g <= {bounding.keys}")
    return with_parts(
        {
            "scope": scope.text,
            "heavy": f"SELECT {PERSON} FROM ({counted}) AS counted GROUP BY {PERSON} HAVING {over}",
            "numbered": select([*carried, rank], "scope", where=_HEAVY),
            "kept": f"{select(carried, 'scope', where=_LIGHT)} UNION ALL "
            f"{select(carried, f'({within}) AS ranked', where=f'r <= {rows}')}",
        },
        scope.summed("kept"),
    )


def people(scope: Contribution, keys: int | None, dialect: Dialect, secret: str) -> str:
    """Each person once per key, under at most so many keys."""
    columns = list(scope.totals)
    grouped = [PERSON, *scope.keys]
    pairs = select([*grouped, *(f"max({name}) AS {name}" for name in columns)], f"({scope.text}) AS scope", grouped)
    told = [*scope.keys, *(f"coalesce(sum({name}), 0) AS {name}" for name in columns)]
    if keys is None:
        return select(told, f"({pairs}) AS pairs", scope.keys)
    carried = [*scope.keys, *columns]
    within = ranked(dialect, secret, scope.keys, [PERSON, *carried], [PERSON], f"pairs WHERE {_HEAVY}")
    return with_parts(
        {
            "pairs": pairs,
            "heavy": f"SELECT {PERSON} FROM pairs GROUP BY {PERSON} HAVING count(*) > {keys}",
            "kept": f"{select(carried, 'pairs', where=_LIGHT)} UNION ALL "
            f"{select(carried, f'({within}) AS ranked', where=f'r <= {keys}')}",
        },
        select(told, "kept", scope.keys),
    )


def clipped(scope: Contribution, bounding: Bounding, dialect: Dialect) -> str:
    """A person's totals over the keys, scaled down to a norm in integers rounded toward zero.

    Each total is first clamped to the norm, of at most 50 bits (``bound.LARGEST_TOTAL``), so that a person's squares
    over a million keys take 120 bits, which a huge integer holds however many rows the person has.
    """
    norms = dict(zip(scope.totals, bounding.totals, strict=True))
    grouped = [PERSON, *scope.keys]
    sums = {name: f"coalesce({dialect.huge_of(f'sum({name})')}, 0)" for name in norms}  # greatest skips what is missing
    clamped = [
        f"least(greatest({sums[name]}, -{norm // fine}), {norm // fine}) * {fine} AS {name}"
        for (name, norm), fine in zip(norms.items(), bounding.fine, strict=True)
    ]
    size = {name: f"sum({name} * {name})" if bounding.norm == "L2" else f"sum(abs({name}))" for name in norms}
    limit = {name: norm * norm if bounding.norm == "L2" else norm for name, norm in norms.items()}
    over = " OR ".join(f"{size[name]} > {limit[name]}" for name in norms)
    told = [
        f"{dialect.huge_of(f'coalesce(sum({_shrunk(name, norm, limit[name], bounding, dialect)}), 0)')} AS {name}"
        for name, norm in norms.items()
    ]
    sizes = [f"{size[name]} AS s_{name}" for name in norms]
    return with_parts(
        {
            "totals": select([*grouped, *clamped], f"({scope.text}) AS scope", grouped),
            "large": f"{select([PERSON, *sizes], 'totals', [PERSON])} HAVING {over}",
        },
        select(
            [*(f"totals.{key} AS {key}" for key in scope.keys), *told],
            f"totals LEFT JOIN large ON totals.{PERSON} = large.{PERSON}",
            [f"totals.{key}" for key in scope.keys],
        ),
    )


def _shrunk(name: str, norm: int, limit: int, bounding: Bounding, dialect: Dialect) -> str:
    total, size = f"totals.{name}", f"large.s_{name}"
    length = dialect.root_above(size) if bounding.norm == "L2" else size
    return f"CASE WHEN {size} > {limit} THEN {dialect.toward_zero(f'{total} * {norm}', length)} ELSE {total} END"
