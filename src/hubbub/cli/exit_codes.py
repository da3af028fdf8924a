"""Exit codes, and the outer edge where every error becomes one: a message on stderr, never a traceback."""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Callable
from enum import IntEnum

from hubbub.terms import (
    AccountingError,
    BehindAnchor,
    BeyondConsent,
    BudgetError,
    ClockBackwards,
    CollectionError,
    DescriptorError,
    FormatError,
    HubbubError,
    InvalidParameter,
    LedgerDamaged,
    LedgerUnavailable,
    MissingExtra,
    MissingKey,
    NoAnswer,
    NotAuditable,
    OtherRun,
    QueryError,
    RequestChanged,
    SecretState,
    SourceUnavailable,
    Superseded,
    Unsuitable,
)


class Exit(IntEnum):
    """How a command ended."""

    DONE = 0
    OUR_FAULT = 1
    USAGE = 2
    NOT_PRIVATE = 3
    BUDGET = 4
    DESCRIPTOR = 5
    BACKEND = 6
    VERIFICATION = 7
    UNPINNED = 8
    INTERRUPTED = 130

    @property
    def words(self) -> str:
        """What the code means."""
        return _WORDS[self]


_WORDS = {
    Exit.DONE: "done",
    Exit.OUR_FAULT: "our fault: a bug in Hubbub",
    Exit.USAGE: "usage: a wrong command, option or value",
    Exit.NOT_PRIVATE: "cannot be answered privately",
    Exit.BUDGET: "the budget says no",
    Exit.DESCRIPTOR: "descriptor, configuration or stored file",
    Exit.BACKEND: "backend: a program, database or extra is missing or failed",
    Exit.VERIFICATION: "a verification failed",
    Exit.UNPINNED: "verified as consistent with itself only: say whose it is",
    Exit.INTERRUPTED: "interrupted",
}

TRACEBACK = "HUBBUB_TRACEBACK"  # environment variable: show the traceback of a bug
EPILOG = (
    "Exit codes:\n\n\b\n"
    + "\n".join(f"{code.value:>5}  {code.words}" for code in Exit)
    + f"\n\nNO_COLOR turns colours off; {TRACEBACK}=1 shows the traceback of a bug."
)

_CODES: tuple[tuple[type[HubbubError], Exit], ...] = (
    (InvalidParameter, Exit.USAGE),
    (AccountingError, Exit.NOT_PRIVATE),
    (BudgetError, Exit.BUDGET),
    (FormatError, Exit.DESCRIPTOR),
    (RequestChanged, Exit.USAGE),
    (Superseded, Exit.BUDGET),
    (NoAnswer, Exit.BUDGET),
    (MissingKey, Exit.DESCRIPTOR),
    (ClockBackwards, Exit.BACKEND),
    (LedgerUnavailable, Exit.BACKEND),
    (MissingExtra, Exit.BACKEND),
    (LedgerDamaged, Exit.VERIFICATION),
    (BehindAnchor, Exit.VERIFICATION),
    (SecretState, Exit.OUR_FAULT),
    (QueryError, Exit.NOT_PRIVATE),
    (SourceUnavailable, Exit.BACKEND),
    (DescriptorError, Exit.DESCRIPTOR),
    (CollectionError, Exit.DESCRIPTOR),
    (Unsuitable, Exit.USAGE),
    (NotAuditable, Exit.USAGE),
    (BeyondConsent, Exit.NOT_PRIVATE),
    (OtherRun, Exit.VERIFICATION),
)


def code_of(error: HubbubError) -> Exit:
    """The exit code of an error of ours."""
    return next((code for kind, code in _CODES if isinstance(error, kind)), Exit.OUR_FAULT)


def guard(run: Callable[[], object]) -> int:
    """Run a command and return its exit code, whatever happens in it."""
    try:
        run()
    except SystemExit as leaving:
        return leaving.code if isinstance(leaving.code, int) else int(leaving.code is not None)
    except HubbubError as error:
        return _print_error(str(error), code_of(error))
    except KeyboardInterrupt:
        return Exit.INTERRUPTED
    except Exception as error:  # the outer edge: a bug must not print data, and a traceback may
        if os.environ.get(TRACEBACK) == "1":
            traceback.print_exc()
        return _print_error(
            f"{type(error).__name__}: this is a bug in Hubbub; {TRACEBACK}=1 shows where.", Exit.OUR_FAULT
        )
    return Exit.DONE


def _print_error(message: str, code: Exit) -> Exit:
    """Say it without signs that steer a terminal: a message may name a column, and a file may call that anything."""
    from hubbub.render import printable

    sys.stderr.write("\n".join(map(printable, message.split("\n"))) + "\n")
    return code
