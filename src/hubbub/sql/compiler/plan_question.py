"""Question -> plan: which integers are read per key, who could move them how far, and how the cost is shared."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction

from hubbub.relations import Expr, limits
from hubbub.schema import Dataset, Value
from hubbub.sql.compiler import fan_out
from hubbub.sql.compiler.bound_contribution import LARGEST_TOTAL, bound, number_of, with_people
from hubbub.sql.compiler.person_links import conjuncts
from hubbub.sql.compiler.plan_aggregates import Readings
from hubbub.sql.compiler.query_plan import (
    BoundedSum,
    BoundingShape,
    GroupKey,
    How,
    PlannedColumn,
    QuestionPlan,
    SumKind,
    can_evaluate,
    can_tell,
)
from hubbub.sql.compiler.question import Ordering, Question, person
from hubbub.sql.compiler.text_work import check_row
from hubbub.terms import NoKeys, NotAllowed, OutOfRange, TooLarge, UnknownName

MOST_ROWS = 1_000_000  # rows of one answer
_UNTOLD = 0.001  # importance of a count of people that only chooses keys, and has noise of its own for that


def plan(
    question: Question,
    dataset: Dataset,
    *,
    gaussian: bool,
    totals: Mapping[str, Fraction] | None = None,
    unknown_keys: bool = True,
    clipping: bool = False,
) -> QuestionPlan:
    """The plan of a question, from public facts alone; ``gaussian`` tells the law of the noise.

    ``clipping`` adds noisy counts of the values that lie beyond their bounds.
    """
    keys = tuple(_key(each.name, each.value, question.where) for each in question.keys)
    many = _check_keys(keys, unknown_keys)
    planner = Readings(person(question.source), many, clipping)
    outputs = tuple(planner.output(each.name, each.value) for each in question.outputs)
    planner.telling = False
    having = planner.read(question.having) if question.having is not None else None
    order = tuple(replace(part, value=planner.read(part.value)) for part in question.order)
    measures = tuple(planner.measures)
    if many is None:
        measures = with_people(measures)
    _check_answer(question, outputs, having, order, many, gaussian, planner, measures)
    used = [part for measure in measures for part in (measure.value, measure.condition)]
    used += [part for curve in planner.curves for part in (curve.value, curve.condition)]
    texts = check_row(question.source, [question.where, *(key.value for key in keys), *used])
    bounded = bound(
        dataset,
        keys,
        measures,
        planner.curves,
        cap=question.cap,
        totals=_totals(totals or {}, outputs, measures),
        gaussian=gaussian,
    )
    if totals and bounded.bounding.shape is not BoundingShape.TOTALS:
        raise NotAllowed(
            "totals cannot be used in this question.",
            why="A person's totals are clipped over public groups, of COUNT and SUM, where people are protected.",
            fix="Leave totals out, or ask for the COUNT or SUM by itself, by public keys.",
        )
    if bounded.bounding.fine:
        told = tuple(replace(measure, fine=fine) for measure, fine in zip(measures, bounded.bounding.fine, strict=True))
    else:
        told = measures
    return QuestionPlan(
        source=question.source,
        where=question.where,
        keys=keys,
        measures=told,
        curves=tuple(planner.curves),
        bounding=bounded.bounding,
        moved=bounded.moved,
        curve_rows=bounded.curve_rows,
        weights=_weights(planner, measures, gaussian, choose=many is None),
        outputs=outputs,
        having=having,
        order=order,
        limit=question.limit,
        offset=question.offset,
        levels=question.levels,
        notes=(*_notes(keys, texts, levels=bool(question.levels)), *dict.fromkeys(fan_out.notes(question.source))),
        clamped=tuple(dict.fromkeys(planner.clamped)),
    )


def _key(name: str, value: Expr, where: Expr | None) -> GroupKey:
    """A key with its public values, of which WHERE may leave some."""
    domain = value.facts.values
    for part in conjuncts(where):
        if domain is not None and part.op in ("eq", "in") and part.args[0] == value:
            wanted = {_comparable(option.param) for option in part.args[1:] if option.op == "literal"}
            if all(option.op == "literal" for option in part.args[1:]):
                domain = tuple(each for each in domain if _comparable(each) in wanted)
    return GroupKey(name, value, domain)


def _comparable(value: Value | Fraction | None) -> Value | None:
    """The value as the engine compares it: as a double, where the text has the decimal 0.1."""
    return float(value) if isinstance(value, int | float | Fraction) and not isinstance(value, bool) else value


def _check_keys(keys: tuple[GroupKey, ...], unknown_keys: bool) -> int | None:
    many = number_of(keys)
    if many == 0:
        names = ", ".join(key.name for key in keys if key.domain == ())
        raise NotAllowed(
            f"the answer has no rows, whatever the data are: WHERE leaves none of the public values of {names}.",
            why="Every row of the answer is a public key, and rows with other values are left out.",
            fix=f"Compare {names} with declared values, which describe() lists.",
        )
    if many is not None and many > MOST_ROWS:
        raise TooLarge(
            f"the answer would have {many:,} rows, and {MOST_ROWS:,} are the most.",
            why="Every public key has a row, whether or not anybody is there.",
            fix="Group by fewer or coarser keys.",
        )
    if many is None and not unknown_keys:
        names = ", ".join(key.name for key in keys if key.domain is None)
        raise NoKeys(
            f"the values of {names} are not public, and a budget without delta cannot choose them privately.",
            why="That a key exists may tell that a person is there.",
            fix='Declare the values: values = ["north", "south"], or connect(..., keys={...}).',
        )
    return many


def _check_answer(
    question: Question,
    outputs: tuple[PlannedColumn, ...],
    having: Expr | None,
    order: tuple[Ordering, ...],
    many: int | None,
    gaussian: bool,
    planner: Readings,
    measures: tuple[BoundedSum, ...],
) -> None:
    """What cannot be told although every part of it can."""
    if not measures and not planner.curves:
        raise NotAllowed(
            "nothing is asked about people here.",
            why="The keys are public already; only aggregates tell something.",
            fix="Add COUNT(*), SUM, AVG or a quantile.",
        )
    for output in outputs:
        if not can_tell(output.value) and not (output.value.op == "literal"):
            raise NotAllowed(
                f"{output.name!r} does more with its aggregates than can be carried with an interval.",
                why="Every number leaves with an interval; arithmetic, ROUND, ABS, SQRT, LN, EXP, LEAST and GREATEST "
                "keep one.",
                fix="Select the aggregates and work the rest out from the release.",
            )
    for part in (*([having] if having is not None else []), *(each.value for each in order)):
        if not can_evaluate(part):
            raise NotAllowed(
                "HAVING or ORDER BY does more with the noisy rows than can be worked out here.",
                why="They are worked out from the release: comparisons, logic, CASE and arithmetic.",
                fix="Put conditions on keys into WHERE, and work the rest out from the release.",
            )
    for measure in measures:
        if measure.largest == 0:
            raise NotAllowed(
                f"{measure.name} is 0 whatever the data are.",
                why="The declared bounds leave no other value.",
                fix="Leave it out, or check the bounds and CLIP.",
            )
    values = [output.value for output in outputs]
    if question.levels and (
        many is None
        or not gaussian
        or planner.curves
        or any(part.value not in values for part in order)
        or any(measure.counted is not SumKind.SUM for measure in measures)
    ):
        raise NotAllowed(
            "ROLLUP, CUBE and GROUPING SETS need public keys, a budget with delta, sums and counts of rows, and ORDER "
            "BY columns of the answer.",
            why="Totals are sums over the finest groups, whose noise must add up to a known law.",
            fix="Ask for each level by itself, joined by UNION ALL.",
        )
    if planner.curves and many is None:
        raise NoKeys(
            "quantiles by keys that are not public cannot be told.",
            why="A curve is measured for every key, also for those that nobody has.",
            fix="Declare the values of the key, or ask for COUNT, SUM and AVG.",
        )


def _notes(keys: tuple[GroupKey, ...], texts: bool, *, levels: bool) -> tuple[str, ...]:
    public = [key.name for key in keys if key.domain is not None]
    notes = [f"Rows with no {' or '.join(public)}, or one outside the public values, are left out."] if public else []
    if levels:
        notes.append("Totals of several groups are sums of these groups: what is left out of them is in no total.")
    if len(public) < len(keys):
        notes.append("Groups of few people usually do not appear, and some others may be missing by chance.")
    if texts:
        notes.append(f"Of a text the first {limits.TEXT:,} characters are looked at.")
    return tuple(notes)


def _weights(
    planner: Readings, measures: tuple[BoundedSum, ...], gaussian: bool, *, choose: bool
) -> tuple[Fraction, ...]:
    """Shares of the cost that minimise the sum of predicted squared errors, each relative to its own scale.

    With noise variance proportional to 1/share (rho) the best shares are as the importances; with 1/share^2 (epsilon),
    as their powers 2/3.
    """
    power = 1.0 if gaussian else 2 / 3
    parts = [planner.importance.get(measure, _UNTOLD) ** power for measure in measures]
    parts += [(2 * planner.importance[curve]) ** power for curve in planner.curves]
    if choose:
        parts.append(1.0)
    whole = [max(1, round(part / sum(parts) * 1_000_000)) for part in parts]
    return tuple(Fraction(part, sum(whole)) for part in whole)


def _totals(
    given: Mapping[str, Fraction], outputs: tuple[PlannedColumn, ...], measures: tuple[BoundedSum, ...]
) -> dict[int, Fraction]:
    """Bounds on a person's total, by measure, from bounds by output name."""
    named = {output.name.lower(): output for output in outputs}
    found: dict[int, Fraction] = {}
    for name, bound_ in given.items():
        output = named.get(name.lower())
        if output is None:
            raise UnknownName(
                f"totals names {name!r}, which is no column of the answer.",
                why="A bound on a person's total belongs to a COUNT or SUM that is told.",
                fix=f"Use one of: {', '.join(named)}.",
            )
        if output.value.op != "read" or output.value.param.how is not How.REF:
            raise NotAllowed(
                f"totals can bound a COUNT or a SUM, and {name!r} is something else.",
                why="Only what is added up over a person's rows has a total.",
                fix="Name a column that is a COUNT or a SUM by itself.",
            )
        index = output.value.param.measures[0]
        steps = bound_ / measures[index].step
        if not 1 <= steps <= LARGEST_TOTAL:
            raise OutOfRange(
                f"the bound on a person's total of {name!r} lies between {float(measures[index].step):g} and "
                f"{float(LARGEST_TOTAL * measures[index].step):g}.",
                why="It is counted in whole steps of the grid, and its square must fit the engine's integers.",
                fix="Give a bound that a person's total can reach.",
            )
        found[index] = bound_
    return found
