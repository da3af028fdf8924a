"""Objects that hold a secret between two calls: never copied, never stored, never shared with a child process.

A noisy threshold or a running total is as private as the data. A copy could be asked again, and both answers
together would cost more than was charged. That is why copying and pickling are refused, and why an object
that was made before a fork can be used in the parent only: otherwise parent and child would each spend the
same charge.
"""

from __future__ import annotations

import os
from typing import NoReturn

from hubbub.terms import SecretState

_process = [object()]  # a fresh object in every child process


def _renew_secret() -> None:
    _process[0] = object()


os.register_at_fork(after_in_child=_renew_secret)


class ProcessSecret:
    """Holds state that stays in this object and in this process."""

    def __init__(self) -> None:
        self._home = (_process[0], os.getpid())  # the pid as well: a fork in C code runs no hook of Python's

    def _check_process(self) -> None:
        process, pid = self._home
        if process is not _process[0] or pid != os.getpid():
            self._refuse("used in another process than the one that made it")

    def __copy__(self) -> NoReturn:
        self._refuse("copied")

    def __deepcopy__(self, memo: object) -> NoReturn:
        self._refuse("copied")

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        self._refuse("pickled")

    def _refuse(self, how: str) -> NoReturn:
        raise SecretState(
            f"{type(self).__name__} cannot be {how}.",
            why="It holds secret state that was charged once; two of them would answer twice.",
            fix="Make a new one, with a charge of its own, where it is needed.",
        )
