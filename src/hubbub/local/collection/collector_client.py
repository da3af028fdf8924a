"""How a client or a shuffler talks to a collector: fetch the signed configuration, send a batch, send it again.

Sending again is always safe: reports are known by their ids.
"""

from __future__ import annotations

import itertools
import json
import time
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from hubbub.local.collection.collector_http import TOKEN
from hubbub.terms import BadReport, HubbubError, OutOfRange, SourceUnavailable
from hubbub.web import Unanswered, WebClient, environment_proxy, growing_pauses

_LARGEST = 4 * 2**20  # bytes of an answer


def fetch(url: str) -> str:
    """The signed configuration that a collector, or a shuffler before it, serves."""
    with _web_client(url) as client:
        return _response_body(client, "GET", "/v1/collection").decode(errors="replace")


def send(url: str, batch: bytes, *, token: str | None = None, attempts: int = 5) -> dict[str, Any]:
    """Send a batch until it is answered, at most so many times; returns what became of it."""
    headers = {"Content-Type": "application/octet-stream", **({TOKEN: token} if token else {})}
    with _web_client(url) as client:
        for pause in itertools.islice(growing_pauses(), max(attempts - 1, 0)):
            try:
                return _send_once(client, batch, headers)
            except SourceUnavailable:
                time.sleep(pause)
        return _send_once(client, batch, headers)


def _web_client(url: str) -> WebClient:
    if not _is_http(url):
        raise OutOfRange(
            f"'{url}' is not the address of a collector.",
            why="Reports are sent over HTTP.",
            fix="Write it as http://127.0.0.1:8765 or https://...",
        )
    try:
        return WebClient(url, largest=_LARGEST, proxy=environment_proxy(url))
    except Unanswered:
        raise _unreachable_error("the proxy that the environment names cannot be used") from None


def _is_http(url: str) -> bool:
    try:
        return urlsplit(url).scheme in {"http", "https"}
    except ValueError:
        return False


def _send_once(client: WebClient, batch: bytes, headers: Mapping[str, str]) -> dict[str, Any]:
    content = _response_body(client, "POST", "/v1/reports", batch, headers)
    try:
        outcome = json.loads(content)
    except (ValueError, RecursionError):
        outcome = None
    if not isinstance(outcome, dict):
        raise _unreachable_error("its answer was cut off")
    return outcome


def _response_body(
    client: WebClient, method: str, path: str, batch: bytes | None = None, headers: Mapping[str, str] | None = None
) -> bytes:
    try:
        answer = client.ask(method, path, content=batch, headers=headers)
    except Unanswered:
        raise _unreachable_error("it does not answer") from None
    if answer.status != 200:
        raise _status_error(answer.status)
    return answer.content


def _status_error(status: int) -> HubbubError:
    if status in {400, 413}:
        return BadReport(
            f"the collector refused the batch as a whole (status {status}).",
            why="It is unreadable or too large.",
            fix="Send a frame as hubbub.local.collection.report_wire.pack_batch makes it, in smaller parts.",
        )
    return _unreachable_error(f"it answers with status {status}")


def _unreachable_error(reason: str) -> SourceUnavailable:
    return SourceUnavailable(
        f"the collector could not be reached: {reason}.",
        why="A report counts only when the collector has acknowledged it.",
        fix="Send it again later: the same report is never counted twice.",
    )
