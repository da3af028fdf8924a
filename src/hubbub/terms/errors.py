"""Every error Hubbub raises, as one tree; each leaf has a stable code and a page ``docs/errors/<code>.md``.

    HubbubError
    ├── InvalidParameter (also a ValueError)
    │   ├── NotANumber        P101  a number was needed and something else came
    │   ├── OutOfRange        P102  zero, negative, NaN, infinite, or outside the allowed interval
    │   ├── ReversedBounds    P103  lower is not below upper
    │   ├── EmptyInput        P104  nothing to choose from
    │   ├── TooLarge          P105  beyond what the integers of a release can hold
    │   ├── Underflow         P106  a scale so small that it would mean no noise
    │   ├── MissingParameter  P107  neither or more than one of the ways to say a cost
    │   ├── NotProved         P108  a formula used outside the range of its proof
    │   └── WrongShape        P109  an array of another shape than declared
    ├── AccountingError
    │   ├── NoBound           P201  no finite bound holds for these events
    │   ├── WrongNeighbours   P202  a guarantee for one neighbour relation asked for under another
    │   ├── Unreachable       P203  no noise in the allowed range meets the target
    │   └── MixedUnits        P204  events that protect different units, asked for one cost
    ├── FormatError
    │   ├── Unreadable        P301  JSON that is not one of our terms
    │   └── NewerFormat       P302  written by a newer version
    ├── BudgetError
    │   ├── BudgetExceeded    P401  it does not fit into what is left
    │   ├── MechanismExhausted P402 a mechanism that may answer only so often has done so
    │   ├── UnknownPopulation P403  nobody opened a budget for these people
    │   ├── BudgetConflict    P404  a budget or rule contradicts what the ledger already says
    │   ├── BelowLeastPrice   P405  a question cheaper than the owner allows
    │   └── NeedsOwner        P406  too many questions without an answer: an owner looks first
    ├── LedgerError
    │   ├── RequestChanged    P411  another request under a fingerprint that is taken
    │   ├── Superseded        P412  too late: the request was charged anew meanwhile
    │   ├── ClockBackwards    P413  the clock shows an earlier time than the last entry
    │   ├── LedgerUnavailable P414  it could not be read or written: disk, rights, lock, connection
    │   ├── LedgerDamaged     P415  entries are altered, missing or not a ledger's
    │   ├── BehindAnchor      P416  entries that were anchored are gone: a cut tail or an old backup
    │   ├── NoAnswer          P417  charged, and no answer came of it
    │   └── MissingKey        P418  the key that signs this ledger is not here
    ├── SecretState           P501  an object that holds a secret was copied, pickled or used after a fork
    ├── MissingExtra          P601  an optional package is not installed
    ├── DescriptorError
    │   ├── BadDescriptor     P701  a descriptor that cannot be read, with the place in the file
    │   └── SourceUnavailable P702  a file, table or column that the descriptor names is not there
    ├── QueryError (refused before data is read and before anything is charged, with the place in the text)
    │   ├── Unparsable        P801  not SQL that can be read
    │   ├── NotAllowed        P802  a construct outside the subset that can be answered privately
    │   ├── UnknownName       P803  no such table or column
    │   ├── WrongType         P804  a value of another type is needed here
    │   ├── Unbounded         P805  a bound is missing, so one person could move the answer without limit
    │   ├── NoKeys            P806  groups whose names are not public, where they cannot be chosen privately
    │   ├── MixesPeople       P807  rows of several people would meet before noise is added
    │   ├── CannotPromise     P808  an accuracy that cannot be promised from public facts
    │   └── OverLimit         P809  work that no public number bounds, or more of it than one question may cause
    ├── NotAuditable          P901  a mechanism that gives nothing an audit could count
    ├── Unsuitable            P911  data or answers on which an attack says nothing
    ├── CollectionError
    │   ├── BadReport         P921  a report that this collection cannot take, with the reason's code
    │   └── BadCollection     P922  a collection's configuration that is unreadable, unsigned or another one
    └── RunError
        ├── BeyondConsent     P931  an agreement that a party has not consented to
        └── OtherRun          P932  the log of another run than the one that was meant

A message has three parts (what could not be done, why, the shortest way on) and is built from public
facts only: parameters, declared bounds, budgets. Never a row, a value or a true count.
"""

from __future__ import annotations

from typing import ClassVar


class HubbubError(Exception):
    """What we could not do, why, and what to do next, with a stable code."""

    code: ClassVar[str] = ""

    def __init__(self, what: str, *, why: str, fix: str) -> None:
        self.what, self.why, self.fix = what, why, fix
        super().__init__(what, why, fix)

    def __str__(self) -> str:
        code = type(self).code
        return f"{type(self).__name__} [{code}]: {self.what}\n  {self.why}\n  {self.fix}\n  docs: errors/{code}"

    def __reduce__(self) -> tuple[object, ...]:
        return _rebuild, (type(self), self.what, self.why, self.fix)


def _rebuild(kind: type[HubbubError], what: str, why: str, fix: str) -> HubbubError:
    return kind(what, why=why, fix=fix)


def _rebuild_report(what: str, why: str, fix: str, reason: str) -> HubbubError:
    return BadReport(what, why=why, fix=fix, reason=reason)


class InvalidParameter(HubbubError, ValueError):
    """A parameter makes no sense; nothing was drawn, read or charged."""


class NotANumber(InvalidParameter):
    """A number was needed and something else came."""

    code = "P101"


class OutOfRange(InvalidParameter):
    """Zero, negative, NaN, infinite, or outside the allowed interval."""

    code = "P102"


class ReversedBounds(InvalidParameter):
    """The lower bound is not below the upper one."""

    code = "P103"


class EmptyInput(InvalidParameter):
    """There is nothing to choose from."""

    code = "P104"


class TooLarge(InvalidParameter):
    """Beyond what the integers of a release can hold."""

    code = "P105"


class Underflow(InvalidParameter):
    """A scale so small that it would mean no noise at all."""

    code = "P106"


class MissingParameter(InvalidParameter):
    """Neither, or more than one, of the ways to state a cost was given."""

    code = "P107"


class NotProved(InvalidParameter):
    """A formula was asked for outside the range in which it is proved."""

    code = "P108"


class WrongShape(InvalidParameter):
    """An array has another shape than was declared."""

    code = "P109"


class AccountingError(HubbubError):
    """A cost could not be worked out."""


class NoBound(AccountingError):
    """No finite bound holds for these events."""

    code = "P201"


class WrongNeighbours(AccountingError):
    """A guarantee for one neighbour relation does not carry over to the one asked for."""

    code = "P202"


class Unreachable(AccountingError):
    """No noise in the allowed range meets the target."""

    code = "P203"


class MixedUnits(AccountingError):
    """Events that protect different units were asked for one cost."""

    code = "P204"


class FormatError(HubbubError):
    """Stored JSON could not be understood."""


class Unreadable(FormatError):
    """The JSON is not one of our terms."""

    code = "P301"


class NewerFormat(FormatError):
    """The JSON was written by a newer version of Hubbub."""

    code = "P302"


class BudgetError(HubbubError):
    """The budget says no."""


class BudgetExceeded(BudgetError):
    """The request does not fit into what is left."""

    code = "P401"


class MechanismExhausted(BudgetError):
    """A mechanism that may answer only so often has done so."""

    code = "P402"


class UnknownPopulation(BudgetError):
    """Nobody opened a budget for these people."""

    code = "P403"


class BudgetConflict(BudgetError):
    """A budget or a rule contradicts what the ledger already says."""

    code = "P404"


class BelowLeastPrice(BudgetError):
    """A question cheaper than the owner allows."""

    code = "P405"


class NeedsOwner(BudgetError):
    """An analyst's questions had no answer too often: an owner looks first."""

    code = "P406"


class LedgerError(HubbubError):
    """The ledger could not do it; nothing was half-written."""


class RequestChanged(LedgerError):
    """Another request came under a fingerprint that is taken."""

    code = "P411"


class Superseded(LedgerError):
    """Too late: the request was charged anew meanwhile."""

    code = "P412"


class ClockBackwards(LedgerError):
    """The clock shows an earlier time than the last entry."""

    code = "P413"


class LedgerUnavailable(LedgerError):
    """The ledger could not be read or written."""

    code = "P414"


class LedgerDamaged(LedgerError):
    """Entries are altered, missing, or not those of a ledger."""

    code = "P415"


class BehindAnchor(LedgerError):
    """Entries that were anchored are gone."""

    code = "P416"


class NoAnswer(LedgerError):
    """The request is charged, and no answer came of it."""

    code = "P417"


class MissingKey(LedgerError):
    """The key that signs this ledger is not here."""

    code = "P418"


class SecretState(HubbubError):
    """An object that holds a secret was about to be copied, pickled or used after a fork."""

    code = "P501"


class MissingExtra(HubbubError):
    """An optional package is not installed."""

    code = "P601"


class DescriptorError(HubbubError):
    """What the owner declared cannot be used."""


class BadDescriptor(DescriptorError):
    """The descriptor cannot be read; the message names the place in the file."""

    code = "P701"


class SourceUnavailable(DescriptorError):
    """A file, table or column that was declared is not there, or cannot be read."""

    code = "P702"


class QueryError(HubbubError):
    """A query was refused before data was read and before anything was charged."""


class Unparsable(QueryError):
    """The text is not SQL that can be read."""

    code = "P801"


class NotAllowed(QueryError):
    """A construct outside the subset that can be answered privately."""

    code = "P802"


class UnknownName(QueryError):
    """No such table or column."""

    code = "P803"


class WrongType(QueryError):
    """A value of another type is needed here."""

    code = "P804"


class Unbounded(QueryError):
    """A bound is missing, so one person could move the answer without limit."""

    code = "P805"


class NoKeys(QueryError):
    """The names of the groups are not public, and cannot be chosen privately here."""

    code = "P806"


class MixesPeople(QueryError):
    """Rows of several people would meet before noise is added."""

    code = "P807"


class CannotPromise(QueryError):
    """The accuracy asked for cannot be promised from public facts."""

    code = "P808"


class OverLimit(QueryError):
    """The work that the question could cause for one person's rows is beyond a public limit, or has none."""

    code = "P809"


class NotAuditable(HubbubError):
    """A mechanism gives nothing an audit could count: it raises, hangs, or returns no comparable outcomes."""

    code = "P901"


class Unsuitable(HubbubError):
    """Data or answers on which an attack would say nothing."""

    code = "P911"


class CollectionError(HubbubError):
    """Something is wrong with a collection of local reports."""


class BadReport(CollectionError):
    """A report that this collection cannot take; ``reason`` is the code under which it is counted."""

    code = "P921"

    def __init__(self, what: str, *, why: str, fix: str, reason: str = "malformed") -> None:
        self.reason = reason
        super().__init__(what, why=why, fix=fix)

    def __reduce__(self) -> tuple[object, ...]:
        return _rebuild_report, (self.what, self.why, self.fix, self.reason)


class BadCollection(CollectionError):
    """A collection's configuration is unreadable, unsigned, or not the one that was meant."""

    code = "P922"


class RunError(HubbubError):
    """Something is wrong with a run among parties that trust nobody."""


class BeyondConsent(RunError):
    """An agreement asks more of a party than it has consented to: nothing of it leaves."""

    code = "P931"


class OtherRun(RunError):
    """A log is not that of the run that was meant."""

    code = "P932"
