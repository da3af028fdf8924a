"""How a client or a shuffler talks to a collector: fetch the signed configuration, send a batch, send it again.

Sending again is always safe: reports are known by their ids.
"""

from __future__ import annotations

import json
import time
import urllib.error
import urllib.request
from http.client import HTTPException
from typing import Any
from urllib.parse import urlsplit

from hubbub.local.collection.collector_http import TOKEN
from hubbub.terms import BadReport, HubbubError, OutOfRange, SourceUnavailable

_SECONDS = 30  # for one answer
_LONGEST = 4 * 2**20  # bytes of an answer


def fetch(url: str) -> str:
    """The signed configuration that a collector, or a shuffler before it, serves."""
    return _asked(urllib.request.Request(_at(url, "/v1/collection"))).decode(errors="replace")  # noqa: S310 - checked


def send(url: str, batch: bytes, *, token: str | None = None, attempts: int = 5) -> dict[str, Any]:
    """Send a batch until it is answered, at most so many times; returns what became of it."""
    headers = {"Content-Type": "application/octet-stream", **({TOKEN: token} if token else {})}
    request = urllib.request.Request(_at(url, "/v1/reports"), data=batch, headers=headers)  # noqa: S310 - checked
    for attempt in range(attempts):
        try:
            return _answer(request)
        except SourceUnavailable:
            if attempt + 1 == attempts:
                raise
            time.sleep(0.1 * 2**attempt)
    raise AssertionError("at least one attempt")  # pragma: no cover


def _at(url: str, path: str) -> str:
    if urlsplit(url).scheme not in {"http", "https"}:
        raise OutOfRange(
            f"'{url}' is not the address of a collector.",
            why="Reports are sent over HTTP.",
            fix="Write it as http://127.0.0.1:8765 or https://...",
        )
    return url.rstrip("/") + path


def _answer(request: urllib.request.Request) -> dict[str, Any]:
    try:
        told: dict[str, Any] = json.loads(_asked(request))
    except ValueError:
        raise _unreachable("its answer was cut off") from None
    return told


def _asked(request: urllib.request.Request) -> bytes:
    try:
        with urllib.request.urlopen(request, timeout=_SECONDS) as answer:  # noqa: S310 - the scheme was checked
            found: bytes = answer.read(_LONGEST)
            return found
    except urllib.error.HTTPError as error:
        with error:
            raise _refused(error.code) from None
    except (OSError, ValueError, HTTPException) as error:
        raise _unreachable("it does not answer") from error


def _refused(status: int) -> HubbubError:
    if status in {400, 413}:
        return BadReport(
            f"the collector refused the batch as a whole (status {status}).",
            why="It is unreadable or too large.",
            fix="Send a frame as hubbub.local.collection.report_wire.pack_batch makes it, in smaller parts.",
        )
    return _unreachable(f"it answers with status {status}")


def _unreachable(reason: str) -> SourceUnavailable:
    return SourceUnavailable(
        f"the collector could not be reached: {reason}.",
        why="A report counts only when the collector has acknowledged it.",
        fix="Send it again later: the same report is never counted twice.",
    )
