"""What stands between the network and the viewer's server.

A page of any web site can send requests to a server on the reader's own machine. So every request must

    name this server     its Host is one that we answer to, by exact comparison: another name that leads here (DNS
                         rebinding) is refused
    hold the key         a token that only the printed address carries; the first visit moves it into a cookie that
                         scripts cannot read and other sites cannot use
    come from our page   where a browser says which page asks (Origin), it is ours; nothing is ever shared with others
    be small and prompt  a header of 64 KiB, a body of 1 MiB, each within ten seconds
    be one of few        so many are answered at a time

and every response forbids the browser to load, run or embed anything but our own files.
"""

from __future__ import annotations

import asyncio
import html
import secrets
from collections.abc import Sequence
from typing import Any

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

MAX_BODY = 2**20
MAX_HEAD = 2**16
SECONDS = 10.0  # for a whole request to arrive
AT_A_TIME = 64  # requests
CLOSE = {"Connection": "close"}

POLICY = (
    "default-src 'self'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self'; "
    "object-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
SECURITY = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}


def refusal(status: int, sentence: str) -> JSONResponse:
    """An error that a page can show; the connection ends with it, for what else is on it was not read."""
    return JSONResponse({"error": sentence}, status, CLOSE)


def refused_page(status: int, sentence: str) -> HTMLResponse:
    """The same for a person, who opened an address that leads to no page."""
    said = html.escape(sentence)
    text = f'<!doctype html><html lang="en"><title>Quiltwork</title><h1>Quiltwork</h1><p>{said}</p></html>'
    return HTMLResponse(text, status, CLOSE)


class Guard:
    """An ASGI application around another; only requests that may pass reach it."""

    def __init__(self, app: Any, names: Sequence[str], port: int, token: str) -> None:
        self.app = app
        self.hosts = {f"{name}:{port}" for name in names} | (set(names) if port == 80 else set())
        self.token = token
        self.cookie = f"quiltwork-{port}"  # cookies know no ports: two viewers must not take each other's
        self.n_active = 0

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            return

        async def send_safely(message: Any) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in SECURITY.items():
                    headers[name] = value
            await send(message)

        answer = self._check(Request(scope)) or self.app
        self.n_active += 1
        try:
            await answer(scope, receive, send_safely)
        finally:
            self.n_active -= 1

    def _check(self, request: Request) -> Response | None:
        """The refusal of a request that may not pass; or, with the token in its address, the cookie."""
        headers = request.headers
        refuse = refused_page if "text/html" in headers.get("accept", "") else refusal
        if len(headers.getlist("host")) != 1 or headers["host"] not in self.hosts:
            return refuse(400, "This server answers only to its own name; open the address that quiltwork printed.")
        origin = headers.get("origin")
        if origin is not None and origin not in {f"http://{host}" for host in self.hosts}:
            return refuse(403, "Requests of other sites are not answered.")
        given = request.query_params.get("token")
        if request.url.path == "/" and given is not None and self._is_token(given):
            moved = RedirectResponse("/", 303)
            moved.set_cookie(self.cookie, self.token, httponly=True, samesite="strict", path="/")
            return moved
        if not self._is_token(request.cookies.get(self.cookie, "")):
            return refuse(
                401,
                "The key is missing or old, for there is a new one whenever the viewer starts: open the address that "
                "quiltwork printed when it was started last.",
            )
        if self.n_active >= AT_A_TIME:
            busy = refuse(503, "Too much is asked at once; ask again in a moment.")
            busy.headers["Retry-After"] = "1"
            return busy
        return None

    def _is_token(self, given: str) -> bool:
        return secrets.compare_digest(given.encode(errors="replace"), self.token.encode())


async def json_body(request: Request) -> bytes | Response:
    """The body of a request that says it is JSON, or the refusal of one that is not, is too long or comes too late."""
    headers: Headers = request.headers
    if headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
        return refusal(415, "Send JSON, with the content type application/json.")
    if headers.get("content-encoding", "identity").lower() != "identity":
        return refusal(415, "Send plain JSON, not compressed.")
    too_long = refusal(413, f"A question may have {MAX_BODY:,} bytes at most.")
    declared = headers.get("content-length", "0")
    if not declared.isdigit() or len(declared) > 18 or int(declared) > MAX_BODY:
        return too_long
    body = bytearray()
    try:
        async with asyncio.timeout(SECONDS):
            async for chunk in request.stream():
                body += chunk
                if len(body) > MAX_BODY:
                    return too_long
    except TimeoutError:
        return refusal(408, f"The question did not arrive within {SECONDS:g} seconds.")
    return bytes(body)


class Punctual(HttpToolsProtocol):
    """uvicorn's connection, with a deadline for every request and a limit to its header, which uvicorn lacks."""

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._wait()

    def on_message_begin(self) -> None:
        super().on_message_begin()
        if self._deadline is None:
            self._wait()

    def on_headers_complete(self) -> None:
        self._head_done = True
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        super().on_message_complete()
        self._stop_waiting()

    def data_received(self, data: bytes) -> None:
        while data and not self.transport.is_closing():
            left = len(data) if self._head_done else MAX_HEAD - self._received
            if left <= 0:
                self.send_400_response("The header is too long.")
                return
            piece, data = data[:left], data[left:]
            self._received += len(piece)
            super().data_received(piece)

    def _unsupported_upgrade_warning(self) -> None:
        """A request for a WebSocket is answered as any other: whoever reads stderr need not install anything."""

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_waiting()
        super().connection_lost(exc)

    def _wait(self) -> None:
        self._received, self._head_done = 0, False
        self._deadline: Any = self.loop.call_later(SECONDS, self.transport.abort)

    def _stop_waiting(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None
