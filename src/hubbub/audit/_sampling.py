"""Running a mechanism that nobody vouches for: many times, within a time, and with words for what goes wrong."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

import numpy as np

from hubbub.audit._outcomes import Outcomes

Mechanism = Callable[..., Any]
_OFTEN = 256  # calls between two looks at the clock


class Unusable(Exception):
    """A mechanism that gave no outcomes; the text says why."""


class _TimeUp(BaseException):
    """Raised inside a call that does not return; no mechanism should catch it."""


def draw_outcomes(
    mechanism: Mechanism, value: object, trials: int, *, name: str, vectorized: bool, until: float
) -> Outcomes:
    """``trials`` outcomes on one input, by ``until`` on the monotonic clock."""
    with _alarm_at(until):
        try:
            outcomes = (
                _draw_at_once(mechanism, value, trials)
                if vectorized
                else _draw_one_by_one(mechanism, value, trials, until)
            )
        except _TimeUp:
            raise Unusable(f"it did not finish in time on {name}") from None
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # somebody else's code may raise anything, SystemExit too
            raise Unusable(f"it raised {type(error).__name__} on {name}") from error
    if len(outcomes) != trials:
        raise Unusable(f"it returned {len(outcomes)} outcomes on {name} where {trials} were asked for")
    return outcomes


def _draw_at_once(mechanism: Mechanism, value: object, trials: int) -> Outcomes:
    outcomes = mechanism(value, trials)
    return outcomes if isinstance(outcomes, np.ndarray) and outcomes.ndim else list(outcomes)


def _draw_one_by_one(mechanism: Mechanism, value: object, trials: int, until: float) -> Outcomes:
    outcomes = []
    for start in range(0, trials, _OFTEN):
        if time.monotonic() > until:
            raise _TimeUp
        outcomes += [mechanism(value) for _ in range(min(_OFTEN, trials - start))]
    return outcomes


@contextmanager
def _alarm_at(until: float) -> Iterator[None]:
    """Interrupt whatever runs when the time is up, where the system can: in the main thread."""
    left = until - time.monotonic()
    able = hasattr(signal, "setitimer") and threading.current_thread() is threading.main_thread()
    if not able or left == float("inf"):
        yield
        return

    def ring(_signal: int, _frame: FrameType | None) -> None:
        raise _TimeUp

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, max(left, 1e-3))
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
