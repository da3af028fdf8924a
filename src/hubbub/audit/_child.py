"""The process in which other people's code is audited: ``python -m hubbub.audit._child REQUEST ANSWER``.

It reads a request from one file and writes its answer to the other; ``_subprocess`` starts it and ends it.
"""

from __future__ import annotations

import json
import pickle
import pkgutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from hubbub.audit._subprocess import CannotLoad, parse_literal
from hubbub.audit.black_box import examine
from hubbub.audit.report import Audit
from hubbub.durable import replace_file


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
