"""An audit in a process of its own: other people's code may hang, leave, or print what it likes.

``python -m hubbub.audit._subprocess REQUEST ANSWER`` reads a request from one file and writes its answer to the other.
"""

from __future__ import annotations

import ast
import json
import os
import pickle
import pkgutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from hubbub.audit.black_box import AuditPlan, examine
from hubbub.audit.report import Audit
from hubbub.durable import replace_file

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


def load_target(target: str) -> Callable[..., Any]:
    """What ``module:name`` names, looked for in the current folder first."""
    module, separator, path = target.partition(":")
    if not separator or not module or not path:
        raise CannotLoad(f"'{target}' is not MODULE:NAME, such as mymodule:mechanism")
    sys.path.insert(0, str(Path.cwd()))
    try:
        function: Any = pkgutil.resolve_name(target)
    except AttributeError:
        raise CannotLoad(f"{module} has no {path}") from None
    except Exception as error:  # importing runs somebody else's code
        raise CannotLoad(f"module {module} cannot be imported: {type(error).__name__}") from error
    if not callable(function):
        raise CannotLoad(f"{target} is not something to call")
    return function  # type: ignore[no-any-return]


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
            [sys.executable, "-m", "hubbub.audit._subprocess", str(asked), str(answer)], timeout + grace, printed=talk
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


def main(asked: Path, answer: Path) -> None:
    """Answer one request: an audit, or the words why nothing could be loaded."""
    request = json.loads(asked.read_text(encoding="utf-8"))
    try:
        mechanism, a, b = load_target(request["target"]), parse_literal(request["a"]), parse_literal(request["b"])
    except CannotLoad as problem:
        return _write_answer(answer, str(problem))
    return _write_answer(answer, examine(mechanism, a, b, name=request["target"], **request["options"]))


def _write_answer(answer: Path, result: Audit | str) -> None:
    """The whole answer or none, also where this process is ended midway."""
    replace_file(answer, pickle.dumps(result))


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
