"""An audit in a process of its own: other people's code may hang, leave, or print what it likes.

The other process runs ``_child``, which nobody imports: a module that is imported and then run would be there twice.
"""

from __future__ import annotations

import ast
import json
import os
import pickle
import signal
import subprocess
import sys
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any

from hubbub.audit.black_box import AuditPlan
from hubbub.audit.report import Audit

_GRACE = 30.0  # seconds for Python to start and for counting, over those for the mechanism


class CannotLoad(Exception):
    """A name that leads to no mechanism, or a text that is no value."""


def parse_literal(text: str) -> Any:
    """A value as it is typed: JSON, or a Python literal.

    >>> parse_literal("[1, 2]"), parse_literal("(1, 'x')"), parse_literal('"x"')
    ([1, 2], (1, 'x'), 'x')
    """
    try:
        return json.loads(text)
    except ValueError:
        pass
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        raise CannotLoad(f"'{text[:60]}' is neither JSON nor a Python literal") from None


def run_apart(
    target: str, a: str, b: str, *, timeout: float, vectorized: bool, grace: float = _GRACE, **options: Any
) -> tuple[Audit, str]:
    """Audit ``target`` on two typed inputs in another process; the audit, and all that was printed there."""
    plan = AuditPlan.checked(target, **options)  # wrong options are told at once
    request = {"target": target, "a": a, "b": b, "options": {**options, "vectorized": vectorized, "timeout": timeout}}
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        asked, answer, talk = (Path(folder) / name for name in ("request", "answer", "printed"))
        asked.write_text(json.dumps(request), encoding="utf-8")
        code = _wait_for(
            [sys.executable, "-m", "hubbub.audit._child", str(asked), str(answer)], timeout + grace, printed=talk
        )
        printed = talk.read_text(encoding="utf-8", errors="replace")
        content = answer.read_bytes() if answer.is_file() else None
    if code is None:
        return plan.refuse("it did not finish in time"), printed
    if content is None:
        return plan.refuse(f"its process ended with code {code} and no answer"), printed
    result = pickle.loads(content)  # noqa: S301 (from a process that could do as much without us)
    if isinstance(result, str):
        raise CannotLoad(result)
    return result, printed


def _wait_for(command: list[str], seconds: float, *, printed: Path) -> int | None:
    """The exit code; None if it had to be stopped. Whatever it started ends with it.

    What is printed goes to a file: a pipe would stay open for as long as any process that the mechanism started.
    """
    with printed.open("wb") as sink:
        process = subprocess.Popen(  # noqa: S603 (our own interpreter and module)
            command, stdin=subprocess.DEVNULL, stdout=sink, stderr=subprocess.STDOUT, start_new_session=True
        )
        try:
            return process.wait(seconds)
        except subprocess.TimeoutExpired:
            return None
        finally:
            _end_process(process)


def _end_process(process: subprocess.Popen[bytes]) -> None:
    """End a process and all that it started."""
    if hasattr(os, "killpg"):
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
    process.kill()
    process.wait()
