"""Text -> the private questions in it, and the statement around them.

Read from the outside: what the compiler accepts as a question about people by itself, with the names that it uses, is
an *inner question*; what stands around it may read inner questions, VALUES, and what is made of these. Where both
readings are possible the question is the larger one, so that whatever the compiler accepts keeps the meaning it has.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from sqlglot import exp

from hubbub.relations import limits
from hubbub.schema import Dataset, is_reserved
from hubbub.sql.compiler.syntax.parse import parse
from hubbub.sql.compiler.syntax.scopes import unknown_name
from hubbub.sql.compiler.syntax.source_text import QueryText
from hubbub.sql.quote import QueryPlan
from hubbub.sql.relation.outer_rules import check_outer, refuse_lost_part
from hubbub.sql.relation.split_select import chooses_rows, split_select
from hubbub.terms import MixesPeople, NotAllowed, QueryError, UnknownName, WrongType

INNER = "_hb_inner_"  # how inner questions are called in the outer statement, with their number
MOST_INNER = 16

_STRUCTURAL = (NotAllowed, MixesPeople, UnknownName, WrongType)  # refusals of what may yet stand around a question
_APART = (NotAllowed, MixesPeople, UnknownName)  # refusals of one SELECT that may say a question and what is around it
Plans = Sequence[QueryPlan]  # of one question, one for each kind of noise
Planner = Callable[[str], Plans]


@dataclass(frozen=True, slots=True)
class AskedRelation:
    """A statement around private questions: ``outer`` reads tables ``_hb_inner_0``, ..., one for each of them."""

    text: str
    outer: exp.Query
    inner: tuple[Plans, ...]


def find_relation(text: str, dataset: Dataset, plan: Planner, refusal: QueryError) -> AskedRelation:
    """The relation in a text that the compiler refused as a question, with ``refusal``.

    Guarantee: the outer statement names no table of the dataset.
    Because: [DR14], post-processing: every name in its FROM clauses is that of an inner question, or of a query made of
    such; any other is refused here, and the place where it runs holds nothing else.
    """
    if not isinstance(refusal, _STRUCTURAL):
        raise refusal
    search: _Search | None = None
    lost: QueryError | None = None
    try:
        tree, source = parse(text)
        if not isinstance(tree, exp.Query) or sum(1 for _ in tree.walk()) > limits.NODES:
            raise refusal
        if any(is_reserved(part.name) for part in tree.find_all(exp.Identifier)):
            raise source.refusal(UnknownName, tree, "names that begin with _hb_ are ours.", fix="Choose another name.")
        lost = refuse_lost_part(tree, source)
        if lost is not None:  # questions are printed to be asked: what is left out there would be another question
            raise lost
        search = _Search(source, dataset, plan)
        outer = search.read(tree, {})
        check_outer(outer, source)
    except RecursionError:  # somebody calls us from deep inside
        raise limits.too_large() from None
    except QueryError as error:
        precise = _is_precise(error) and type(error) is not type(refusal)  # alike, the refusal points at the whole text
        own = search is not None and (search.has_asked or precise)
        raise (error if own or error is lost else refusal) from None
    inner = _numbered_anew(outer, search.inner)
    if not inner:
        raise refusal
    return AskedRelation(text, outer, inner)


def _numbered_anew(outer: exp.Query, asked: Sequence[Plans]) -> tuple[Plans, ...]:
    """The inner questions that are left in the outer statement, the same text once; their tables are renamed."""
    texts: dict[str, Plans] = {}
    for table in [part for part in outer.find_all(exp.Table) if part.name.startswith(INNER)]:
        plans = asked[int(table.name.removeprefix(INNER))]
        text = plans[0].text
        texts.setdefault(text, plans)
        table.set("this", exp.to_identifier(f"{INNER}{list(texts).index(text)}"))
    if len(texts) > MOST_INNER:
        raise limits.over(
            f"more than {MOST_INNER} private questions stand in one statement.",
            "Each of them is charged, and their price is shared out.",
            "Ask for several columns in one question, or send several statements.",
        )
    return tuple(texts.values())


def put_in_place(old: exp.Expr, new: exp.Expr) -> None:
    """Another node where one stands in its tree."""
    assert old.parent is not None and old.arg_key is not None
    old.parent.set(old.arg_key, new, old.index)


def bounds_named(text: str, bounds: Mapping[str, Fraction]) -> dict[str, Fraction]:
    """Those bounds on totals whose columns an inner question gives."""
    tree, _ = parse(text)
    names = {each.alias_or_name for each in tree.selects} if isinstance(tree, exp.Query) else set()
    return {name: bound for name, bound in bounds.items() if name in names}


def _is_precise(error: QueryError) -> bool:
    """Whether it names something to correct in an inner question, and does not only say that it is none."""
    return not isinstance(error, NotAllowed | MixesPeople)


@dataclass(frozen=True, slots=True)
class _Named:
    """A query in WITH, and the names that it knows itself."""

    clause: exp.CTE
    known: Mapping[str, _Named]

    def body(self) -> exp.Query:
        """A copy of the query."""
        query = self.clause.this.copy()
        assert isinstance(query, exp.Query)
        return query


_Known = Mapping[str, _Named]


class _Search:
    """Collects the inner questions while the outer statement is rebuilt around them."""

    def __init__(self, text: QueryText, dataset: Dataset, plan: Planner) -> None:
        self.inner: list[Plans] = []
        self.has_asked = False
        self._text, self._plan = text, plan
        self._declared = {table.name.lower(): table.name for table in dataset.tables}
        self._read: dict[int, exp.Expr | QueryError] = {}  # queries in WITH, by their clauses

    def read(self, tree: exp.Query, known: _Known) -> exp.Query:
        """The query as part of the outer statement: inner questions are asked, what stands around them is kept."""
        if isinstance(tree, exp.Select) and self._reads_people(tree, self._with_own(tree, known)):
            return self._question(tree, known)
        try:
            return self._around(tree.copy(), known)
        except QueryError as error:
            return self._whole(tree, known, error)

    def _whole(self, tree: exp.Query, known: _Known, refusal: QueryError) -> exp.Query:
        """A query that cannot stand around questions, as one: it may aggregate inside each person first."""
        if isinstance(tree, exp.Subquery):
            raise refusal
        try:
            return self._ask(tree, known)
        except QueryError:
            raise refusal from None

    def _with_own(self, tree: exp.Query, known: _Known) -> _Known:
        """The names of queries that a query may use, its own WITH included."""
        clause = tree.args.get("with_")
        if clause is None:
            return known
        if clause.args.get("recursive"):
            raise self._text.refusal(
                NotAllowed,
                tree,
                "WITH RECURSIVE cannot stand around private questions.",
                "How long it runs depends on noisy numbers, and it might never end.",
                "Use a window, as in SUM(n) OVER (ORDER BY day), or a join.",
            )
        names = dict(known)
        for each in clause.expressions:
            names[each.alias.lower()] = _Named(each, dict(names))
        return names

    # ------------------------------------------------------------ what stands around

    def _around(self, tree: exp.Query, known: _Known) -> exp.Query:
        """The query, with each query in it replaced by what it becomes, and the queries in WITH that are left."""
        known = self._with_own(tree, known)
        for part in list(_own_parts(tree)):
            if isinstance(part, exp.Table):
                self._check_table(part, known)
            else:
                assert isinstance(part, exp.Query)
                put_in_place(part, self.read(part, known))
        tree.set("with_", self._named_left(tree))
        return tree

    def _named_left(self, tree: exp.Query) -> exp.With | None:
        """The queries in its WITH that the outer statement reads, as what they became."""
        own = tree.args.get("with_")
        kept = [each for each in own.expressions if isinstance(self._read.get(id(each)), exp.Expr)] if own else []
        for each in kept:
            each.set("this", self._read[id(each)])
        return exp.With(expressions=kept) if kept else None

    def _check_table(self, part: exp.Table, known: _Known) -> None:
        """A table in FROM: the name of a query; anything else is refused."""
        if not _is_plain_name(part):
            raise self._text.refusal(
                NotAllowed,
                part,
                "only private questions and what is made of them can be read here.",
                "Around private questions nothing else is at hand: no file, no function and no other table.",
                "Put a SELECT with COUNT, SUM, AVG or a quantile in its place, or VALUES.",
            )
        name = part.name.lower()
        if name in known:
            outer = self._read_named(known[name])
            if isinstance(outer, QueryError):
                raise outer
        elif name not in self._declared:
            raise unknown_name(part, part.name, [*self._declared.values(), *known], self._text, what="table")
        else:
            raise self._text.refusal(
                NotAllowed,
                part,
                "the statement around private questions reads a table of the dataset.",
                "It runs on released numbers alone, in a place where no row is.",
                f"Join {part.name[:60]} inside a question, or aggregate it: (SELECT key, COUNT(*) AS n FROM "
                f"{part.name[:60]} GROUP BY key).",
            )

    def _read_named(self, named: _Named) -> exp.Expr | QueryError:
        """What a query in WITH becomes in the outer statement, or why it cannot stand there."""
        place = id(named.clause)
        if place not in self._read:
            try:
                self._read[place] = self.read(named.body(), named.known)
            except QueryError as error:
                self._read[place] = error
        return self._read[place]

    # ------------------------------------------------------------ inner questions

    def _reads_people(self, tree: exp.Select, known: _Known) -> bool:
        """Whether its FROM names a declared table, or a query in WITH that gives rows of people."""
        names = [part.name.lower() for part in _own_parts(tree) if isinstance(part, exp.Table) and _is_plain_name(part)]
        if any(name not in known and name in self._declared for name in names):
            return True
        return any(isinstance(self._read_named(known[name]), QueryError) for name in names if name in known)

    def _question(self, tree: exp.Select, known: _Known) -> exp.Query:
        """A SELECT from tables of people: a question, or one with a SELECT around it written in one.

        Rows are chosen around the question where that is possible: what is worked out of those that are shown has an
        interval only if it is known which others noise could have shown.
        """
        try:
            asked = self._ask(tree, known)  # as it stands: what is refused in it is refused around it, too
            return (self._chosen_around(tree, known) if chooses_rows(tree) else None) or asked
        except QueryError as error:
            refusal = error
        try:
            apart = self._taken_apart(tree.copy(), known) if isinstance(refusal, _APART) else None
        except QueryError as error:
            raise (error if isinstance(refusal, NotAllowed) else refusal) from None
        if apart is not None:
            return apart
        self._refuse_mixture(tree, known)
        raise refusal

    def _chosen_around(self, tree: exp.Select, known: _Known) -> exp.Query | None:
        try:
            return self._taken_apart(tree.copy(), known)
        except QueryError:
            return None

    def _taken_apart(self, tree: exp.Select, known: _Known) -> exp.Query | None:
        """A question and a SELECT around it, where one SELECT says both; its subqueries are questions of their own."""
        halves = split_select(tree)
        if halves is None:
            return None
        known = self._with_own(tree, known)
        asked = self._ask(halves.question, known)
        for half in filter(None, (halves.rest, halves.having)):
            for part in list(_outermost_queries(half)):
                put_in_place(part, self.read(part, known))
        halves.rest.set("with_", self._named_left(tree))
        return halves.around(asked)

    def _refuse_mixture(self, tree: exp.Select, known: _Known) -> None:
        """Refuse a FROM in which rows of people stand beside released numbers, which could be read by themselves."""
        known = self._with_own(tree, known)
        parts = [part for part in _own_parts(tree) if isinstance(part.parent, exp.From | exp.Join)]
        people = [part for part in parts if isinstance(part, exp.Table) and part.name.lower() in self._declared]
        released = [part for part in parts if isinstance(part, exp.Subquery) and self._can_read(part, known)]
        if people and released:
            self._check_table(people[0], {})

    def _can_read(self, tree: exp.Query, known: _Known) -> bool:
        try:
            self.read(tree.copy(), known)
        except QueryError:
            return False
        return True

    def _ask(self, tree: exp.Query, known: _Known) -> exp.Query:
        """The query as an inner question: a SELECT of its columns from its noisy table."""
        plans = self._plan(_text_alone(tree, known))
        self.has_asked = True
        self.inner.append(plans)
        names = [exp.column(output.name, quoted=True) for output in plans[0].plans[0].outputs]
        return exp.select(*names).from_(f"{INNER}{len(self.inner) - 1}")


def _is_plain_name(part: exp.Table) -> bool:
    return isinstance(part.this, exp.Identifier) and not part.args.get("db") and not part.args.get("sample")


def _outermost_queries(tree: exp.Expr) -> Iterator[exp.Query]:
    """The queries in the clauses of a SELECT, or in an expression, not looking into them."""
    for child in tree.iter_expressions():
        yield from (part for part in _outermost(child) if isinstance(part, exp.Query))


def _own_parts(tree: exp.Query) -> Iterator[exp.Expr]:
    """Tables and queries of a query, not looking into these queries, nor into its WITH."""
    for name, value in list(tree.args.items()):
        for child in value if isinstance(value, list) else (value,):
            if isinstance(child, exp.Expr) and name != "with_":
                yield from _outermost(child)


def _outermost(node: exp.Expr) -> Iterator[exp.Expr]:
    if isinstance(node, exp.Query) and not isinstance(node, exp.Table):
        yield node
        return
    if isinstance(node, exp.Table):
        yield node
    for child in list(node.iter_expressions()):
        yield from _outermost(child)


def _text_alone(tree: exp.Query, known: _Known) -> str:
    """The query as a text by itself, with the queries in WITH that it names."""
    alone, clauses = tree.copy(), dict[str, exp.CTE]()
    _collect_named(alone, known, clauses)
    own = alone.args.get("with_")
    listed = [each.copy() for each in clauses.values()] + (list(own.expressions) if own is not None else [])
    if listed:
        alone.set("with_", exp.With(expressions=listed))
    return alone.sql(dialect="duckdb")


def _collect_named(tree: exp.Expr, known: _Known, clauses: dict[str, exp.CTE]) -> None:
    """The queries that are named in the tree, each after those that it names itself."""
    for part in tree.find_all(exp.Table):
        name = part.name.lower()
        if name in known and name not in clauses and _is_plain_name(part):
            _collect_named(known[name].clause.this, known[name].known, clauses)
            clauses[name] = known[name].clause
