"""The statements of the book, written once in SQLAlchemy Core for both databases."""

from __future__ import annotations

from functools import cache
from typing import Any

from sqlalchemy import (
    BindParameter,
    Insert,
    Select,
    Table,
    Text,
    bindparam,
    cast,
    exists,
    func,
    insert,
    null,
    select,
    update,
)

from hubbub.ledger.book.sql_schema import ANSWERS, ENTRIES, EVENTS, TOTALS

_E = ENTRIES.c
TOTAL = ("loss", "delta", "epsilon", "tail")  # the numbers of a total
_SETTLER = ENTRIES.alias("settler")

LAST = select(_E.sequence, _E.at, _E.policy, _E.hash).order_by(_E.sequence.desc()).limit(1)
RECENT = select(_E.sequence, _E.hash).order_by(_E.sequence.desc()).limit(32)
ENTRY = select(ENTRIES).where(_E.sequence == bindparam("sequence"))
HASH = select(_E.hash).where(_E.sequence == bindparam("sequence"))
BEFORE = select(ENTRIES).where(_E.sequence <= bindparam("sequence")).order_by(_E.sequence.desc()).limit(2)
POLICY = select(ENTRIES).where(_E.policy == _E.sequence).order_by(_E.sequence)
FROM = select(ENTRIES).where(_E.sequence >= bindparam("start")).order_by(_E.sequence)
ALL_EVENTS = select(EVENTS)
EVENT = select(EVENTS.c.body).where(EVENTS.c.digest == bindparam("digest"))
ALL_ANSWERS = select(ANSWERS).order_by(ANSWERS.c.charge)
ANSWERED_BEFORE = (
    select(ANSWERS.c.charge)
    .select_from(ANSWERS.join(ENTRIES, ANSWERS.c.sequence == _E.sequence))
    .where(ANSWERS.c.body.is_not(None), _E.at < bindparam("at"))
    .order_by(ANSWERS.c.charge)
)
ALL_TOTALS = select(TOTALS)
SLICE = (
    select(_E.sequence, _E.at, _E.body)
    .where(_E.sequence >= bindparam("start"), _E.sequence < bindparam("stop"))
    .order_by(_E.sequence)
)

_SETTLED = ANSWERS.outerjoin(_SETTLER, _SETTLER.c.sequence == ANSWERS.c.sequence)
_ENDING = (ANSWERS.c.body, ANSWERS.c.sequence, _SETTLER.c.at, _SETTLER.c.hash)
SETTLED = select(*_ENDING).select_from(_SETTLED).where(ANSWERS.c.charge == bindparam("charge"))
# the head, and how one charge ended
HEAD_AND_ENDING = (
    select(_E.sequence, _E.at, _E.policy, _E.hash, ANSWERS.c.charge, *_ENDING)
    .select_from(
        ENTRIES.outerjoin(ANSWERS, ANSWERS.c.charge == bindparam("charge")).outerjoin(
            _SETTLER, _SETTLER.c.sequence == ANSWERS.c.sequence
        )
    )
    .order_by(_E.sequence.desc())
    .limit(1)
)
# the head, and the newest entry of one request within a project
_SAME = ENTRIES.alias("same")
HEAD_AND_NEWEST = (
    select(
        _E.sequence,
        _E.at,
        _E.policy,
        _E.hash,
        select(func.max(_SAME.c.sequence))
        .where(_SAME.c.fingerprint == bindparam("fingerprint"), _SAME.c.project == bindparam("project"))
        .scalar_subquery(),
    )
    .order_by(_E.sequence.desc())
    .limit(1)
)
_CHARGE = select(_E.sequence, _E.at, _E.project, _E.body, _E.hash, *_ENDING).where(
    _E.fingerprint == bindparam("fingerprint")
)
_OWN = _E.project == bindparam("project")
_NEWEST = _E.sequence.desc()
_ENDED = ENTRIES.outerjoin(ANSWERS, ANSWERS.c.charge == _E.sequence).outerjoin(
    _SETTLER, _SETTLER.c.sequence == ANSWERS.c.sequence
)
# the newest charge of a request within a project, after its attempts (a charge has at most two)
FIND = _CHARGE.select_from(_ENDED).where(_OWN).order_by(_NEWEST).limit(3)
# the newest charge that has an answer: within a project, or in any
ANSWERED_ANYWHERE = _CHARGE.select_from(_ENDED).where(ANSWERS.c.body.is_not(None)).order_by(_NEWEST).limit(1)
ANSWERED = ANSWERED_ANYWHERE.where(_OWN)
OPEN = (
    select(ENTRIES)
    .where(_E.fingerprint.is_not(None), ~exists().where(ANSWERS.c.charge == _E.sequence))
    .order_by(_E.sequence)
)

ADD_ENTRY = insert(ENTRIES)
ADD_EVENT = insert(EVENTS).from_select(
    ["digest", "body"],
    select(cast(bindparam("digest"), Text), cast(bindparam("body"), Text)).where(
        ~exists().where(EVENTS.c.digest == bindparam("digest"))
    ),
)
ADD_ANSWER = insert(ANSWERS)
ADD_TOTAL = insert(TOTALS).from_select(  # a window that was closed and opened again goes on where it was
    ["account", "period", *TOTAL],
    select(*(cast(bindparam(name), Text) for name in ("account", "period", *TOTAL))).where(
        ~exists().where(TOTALS.c.account == bindparam("account"))
    ),
)
SPEND = (
    update(TOTALS)
    .where(TOTALS.c.account == bindparam("key"))
    .values(period=bindparam("period"), **{name: bindparam(name) for name in TOTAL})
)
NOT_FILLED = select(TOTALS.c.account).where(TOTALS.c.epsilon.is_(None)).limit(1)
FILL = (
    update(TOTALS)
    .where(TOTALS.c.account == bindparam("key"))
    .values(epsilon=bindparam("epsilon"), tail=bindparam("tail"))
)
ERASE = update(ANSWERS).where(ANSWERS.c.charge == bindparam("key")).values(body=null())


@cache
def totals_of(count: int) -> Select[Any]:
    """The totals of so many accounts, named a0, a1, ..."""
    names: list[BindParameter[str]] = [bindparam(f"a{i}") for i in range(count)]
    return select(TOTALS).where(TOTALS.c.account.in_(names))


@cache
def copy_into(table: Table) -> Insert:
    """The statement that puts a row into a table."""
    return insert(table)


@cache
def every_row(table: Table) -> Select[Any]:
    """The statement that reads a table in the order of its key."""
    return select(table).order_by(*table.primary_key.columns)
