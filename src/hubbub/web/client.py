"""The HTTP client: one request, one whole answer, with an end to what is read and to how long it takes.

Nothing of the user goes along: no cookie is kept, no ``.netrc`` is read, no redirect is followed. An answer is asked
for as it is (``identity``), so that a small one cannot unpack into a large one. What is not answered raises
``Unanswered``; whoever asked says so in their own words, and asks again after ``growing_pauses`` where that is safe.
"""

from __future__ import annotations

import json
import time
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from http.cookiejar import CookieJar, DefaultCookiePolicy
from types import TracebackType
from typing import TYPE_CHECKING, Self
from urllib.parse import urlsplit

from hubbub.web.packages import missing_package

if TYPE_CHECKING:
    from hubbub.render import Json

_LONGEST = 600.0  # seconds for one whole answer, however steadily it drips
_TO_CONNECT = 10.0
_HEADERS = {"Accept-Encoding": "identity", "User-Agent": "hubbub"}


class Unanswered(Exception):
    """Nobody is there, the answer was cut off, or what came is no HTTP."""


class BadAddress(Unanswered):
    """The request cannot be sent at all: the same one will never be answered."""


class EndlessAnswer(Unanswered):
    """The answer is larger than any that was expected, or does not end."""


@dataclass(frozen=True, slots=True)
class WebAnswer:
    """A status and a whole body."""

    status: int
    content: bytes

    def json(self) -> Json:
        """The body as JSON; ``ValueError`` if it is none."""
        try:
            content: Json = json.loads(self.content)
        except RecursionError:
            raise ValueError("nested too deeply") from None
        return content


class WebClient:
    """Asks one server, and waits for each answer: at most ``seconds`` for its next byte, and for ``largest`` bytes."""

    def __init__(self, url: str, *, largest: int, seconds: float = 30.0, proxy: str | None = None) -> None:
        try:
            from httpx import Client, Timeout
        except ImportError:
            raise missing_package("httpx") from None
        self._url, self._largest = url.rstrip("/"), largest
        timeout = Timeout(seconds, connect=_TO_CONNECT)
        with _in_our_words():
            self._client = Client(
                timeout=timeout, trust_env=False, headers=_HEADERS, cookies=_no_cookies(), proxy=proxy
            )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._client.close()

    def ask(
        self, method: str, path: str, *, content: bytes | None = None, headers: Mapping[str, str] | None = None
    ) -> WebAnswer:
        """The whole answer to one request; raises ``Unanswered``."""
        body = _Body(self._largest)
        with _in_our_words():
            request = self._client.build_request(
                method, _checked_address(self._url) + path, content=content, headers=headers
            )
            answer = self._client.send(request, stream=True)
            try:
                for chunk in answer.iter_raw():
                    body.add(chunk)
            finally:
                answer.close()
        return WebAnswer(answer.status_code, body.whole())


class AsyncWebClient:
    """The same for programs that do other things meanwhile."""

    def __init__(self, url: str, *, largest: int, seconds: float = 30.0) -> None:
        try:
            from httpx import AsyncClient, Timeout
        except ImportError:
            raise missing_package("httpx") from None
        self._url, self._largest = url.rstrip("/"), largest
        timeout = Timeout(seconds, connect=_TO_CONNECT)
        with _in_our_words():
            self._client = AsyncClient(timeout=timeout, trust_env=False, headers=_HEADERS, cookies=_no_cookies())

    async def aclose(self) -> None:
        """Let the connections go."""
        await self._client.aclose()

    async def ask(self, method: str, path: str, *, content: bytes | None = None) -> WebAnswer:
        """The whole answer to one request; raises ``Unanswered``."""
        body = _Body(self._largest)
        with _in_our_words():
            request = self._client.build_request(method, _checked_address(self._url) + path, content=content)
            answer = await self._client.send(request, stream=True)
            try:
                async for chunk in answer.aiter_raw():
                    body.add(chunk)
            finally:
                await answer.aclose()
        return WebAnswer(answer.status_code, body.whole())


def growing_pauses(first: float = 0.1, longest: float = 2.0) -> Iterator[float]:
    """Seconds to wait before asking again: each twice the one before, up to the longest."""
    while True:
        yield first
        first = min(2 * first, longest)


def environment_proxy(url: str) -> str | None:
    """The proxy that the environment names for an address (``HTTPS_PROXY``, ``NO_PROXY``), and nothing else of it."""
    parts = urlsplit(url)
    proxy = urllib.request.getproxies().get(parts.scheme)
    if not proxy or urllib.request.proxy_bypass(parts.netloc):
        return None
    return proxy if "://" in proxy else f"http://{proxy}"


def _checked_address(url: str) -> str:
    """The same address; ``ValueError`` for a port that is none: sockets fail on it with errors of any kind."""
    if urlsplit(url).port == 0:
        raise ValueError("no port")
    return url


class _Body:
    """What came of an answer until now."""

    def __init__(self, largest: int) -> None:
        self._largest, self._until = largest, time.monotonic() + _LONGEST
        self._chunks: list[bytes] = []
        self._size = 0

    def add(self, chunk: bytes) -> None:
        """One chunk more; raises where the answer is too large or takes too long."""
        self._size += len(chunk)
        if self._size > self._largest or time.monotonic() > self._until:
            raise EndlessAnswer
        self._chunks.append(chunk)

    def whole(self) -> bytes:
        return b"".join(self._chunks)


@contextmanager
def _in_our_words() -> Iterator[None]:
    """httpx's errors as ours; its text, which may quote an address with a password in it, goes no further."""
    import httpx

    try:
        yield
    except (httpx.InvalidURL, httpx.UnsupportedProtocol, httpx.LocalProtocolError, ValueError, ImportError):
        raise BadAddress from None
    except httpx.HTTPError:
        raise Unanswered from None


def _no_cookies() -> CookieJar:
    """A jar that takes nothing: by a cookie, a server could tell which requests come from one sender."""
    return CookieJar(DefaultCookiePolicy(allowed_domains=()))
