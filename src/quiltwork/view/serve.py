"""The viewer's server: one model, one page, on this machine.

    GET  /?token=…       moves the token into a cookie and leads to the page
    GET  /               the page
    GET  /assets/<name>  program, style and licences: a fixed list
    GET  /api/document   the document
    GET  /api/other      the second model's document, or null where there is none to compare
    GET  /api/local/<i>  one local distribution; /api/other/<i> that of the second model
    POST /api/marginals  {"evidence": {"<i>": state or value}} -> the distribution of every variable

Wrong questions get a status and {"error": "one sentence"}. See `guard` for who may ask at all.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import gzip
import ipaddress
import os
import secrets
import socket
from dataclasses import dataclass
from typing import Any

import msgspec

from quiltwork.errors import InputError, MissingDependencyError, QuiltworkError
from quiltwork.view.answers import Answers
from quiltwork.view.bundle import NAMES, check_bundle, read_bundle
from quiltwork.view.document import to_json

PORT = 8733  # the first that is tried; a port of one's own keeps the address of a view the same from day to day
TRIES = 40
LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
BACKLOG = 64  # connections that wait to be heard


@dataclass(frozen=True, eq=False)
class Service:
    """A server that listens already; `run` answers until Ctrl-C or `stop`.

    url      the address to open, with its token
    server   uvicorn's server
    socket   that it listens on
    warning  what the reader must know, where others than this machine can reach it
    """

    url: str
    server: Any
    socket: socket.socket
    warning: str = ""

    def run(self) -> None:
        with contextlib.suppress(KeyboardInterrupt), asyncio.Runner() as runner:
            answering = self.server.serve(sockets=[self.socket])
            try:
                runner.run(answering)  # uvicorn closes in peace first, then raises the interrupt again
            finally:
                answering.close()  # or Python would complain, were it interrupted before it began

    def stop(self) -> None:
        self.server.should_exit = True


def serve(
    model: Any,
    other: Any = None,
    *,
    names: tuple[str, str] = ("", ""),
    host: str = "127.0.0.1",
    port: int | None = None,
) -> Service:
    """A server for a model, ready to run: on this port, or on the first free one where none is given.

    names  of the files that the models were read from, for the page to say
    """
    try:
        import uvicorn

        from quiltwork.view.guard import Punctual
    except ImportError as error:
        raise MissingDependencyError.of(error.name or "uvicorn", "serve", "Viewing a model in the browser") from None
    check_bundle()
    hosts, warning = _names(host)
    answers = Answers.of(model, other, names)
    listening = _listen(host, port)
    token = secrets.token_urlsafe(24)
    bound = listening.getsockname()[1]
    config = uvicorn.Config(
        application(answers, hosts, bound, token),
        http=Punctual, ws="none", lifespan="off", log_config=None, access_log=False, server_header=False,
        proxy_headers=False, timeout_keep_alive=5, timeout_graceful_shutdown=5,
    )  # fmt: skip
    return Service(f"http://{hosts[0]}:{bound}/?token={token}", uvicorn.Server(config), listening, warning)


def application(answers: Answers, names: tuple[str, ...], port: int, token: str) -> Any:
    """The guarded ASGI application."""
    from starlette.applications import Starlette
    from starlette.exceptions import HTTPException
    from starlette.requests import Request
    from starlette.responses import JSONResponse, Response
    from starlette.routing import Route

    from quiltwork.view.guard import Guard, json_body, refusal

    documents = {"document": to_json(answers.document), "other": to_json(answers.other)}
    packed = {name: gzip.compress(text, 5) for name, text in documents.items()}
    one_at_a_time = asyncio.Semaphore(1)  # an answer takes a core, and Ctrl-C should not wait for many

    async def page(request: Request) -> Response:
        return Response(read_bundle("index.html"), media_type=NAMES["index.html"])

    async def asset(request: Request) -> Response:
        name = request.path_params["name"]
        if name not in NAMES or name == "index.html":
            raise HTTPException(404)
        return Response(read_bundle(name), media_type=NAMES[name])

    async def whole(request: Request) -> Response:
        name = request.url.path.removeprefix("/api/")
        headers = {"Vary": "Accept-Encoding"}
        if "gzip" in request.headers.get("accept-encoding", ""):
            return Response(
                packed[name], headers={**headers, "Content-Encoding": "gzip"}, media_type="application/json"
            )
        return Response(documents[name], headers=headers, media_type="application/json")

    async def local(request: Request) -> Response:
        number = request.path_params["v"]
        v = int(number) if number.isascii() and number.isdigit() and len(number) < 9 else number
        try:
            told = await asyncio.to_thread(answers.local, v, request.url.path.startswith("/api/other/"))
        except InputError as error:
            return JSONResponse({"error": str(error)}, 404)
        return Response(to_json(told), media_type="application/json")

    async def marginals(request: Request) -> Response:
        body = await json_body(request)
        if isinstance(body, Response):
            return body
        try:
            asked = msgspec.json.decode(body, type=dict[str, Any])
        except msgspec.ValidationError:
            return refusal(422, 'A question is an object with the evidence: {"evidence": {"3": 0}}.')
        except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
            return refusal(400, "The question is not well-formed JSON.")
        try:
            async with one_at_a_time:
                if await request.is_disconnected():  # the page has asked something else since
                    return Response(status_code=204)
                told = await asyncio.to_thread(answers.marginals, asked.get("evidence"))
        except QuiltworkError as error:
            return JSONResponse({"error": str(error)}, 422)
        return Response(to_json(told), media_type="application/json")

    async def other_errors(request: Request, error: Any) -> Response:
        said = {404: "There is nothing at this address.", 405: "This address is not asked in that way."}
        return JSONResponse({"error": said.get(error.status_code, error.detail)}, error.status_code)

    routes = [
        Route("/", page),
        Route("/assets/{name}", asset),
        Route("/api/document", whole),
        Route("/api/other", whole),
        Route("/api/local/{v}", local),
        Route("/api/other/{v}", local),
        Route("/api/marginals", marginals, methods=["POST"]),
    ]
    inner = Starlette(routes=routes, exception_handlers={HTTPException: other_errors})
    inner.router.redirect_slashes = False
    return Guard(inner, names, port, token)


# Where it listens


def _names(host: str) -> tuple[tuple[str, ...], str]:
    """The names in the Host of requests that are for us, as browsers write them; and a warning where others can send
    some."""
    host = host.lower()
    if host in ("127.0.0.1", "localhost", "::1"):
        return (("[::1]", *LOOPBACK[:2]) if host == "::1" else LOOPBACK), ""
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        address = None
    if address is not None and address.is_unspecified:
        raise InputError(
            f"The server must know its own name to refuse others. Got {host!r}, which means every address; give the "
            "one address that readers will type."
        )
    warning = ""
    if address is None or not address.is_loopback:
        warning = (
            f"Other machines can reach the viewer at {host}, and what it sends is not encrypted; whoever has the "
            "address below can read the model."
        )
    return (f"[{address}]" if address is not None and address.version == 6 else host,), warning


def _listen(host: str, port: int | None) -> socket.socket:
    """A listening socket on this port, or on the first free one from PORT on."""
    if port is not None and not 0 <= port <= 65535:
        raise InputError(f"A port is a number from 0 to 65535. Got {port} instead.")
    for candidate in range(PORT, PORT + TRIES) if port is None else (port,):
        try:
            return _bound(host, candidate)
        except OSError as error:
            if error.errno == errno.EADDRINUSE and port is None:
                continue
            raise InputError(_why(error, host, candidate)) from None
    return _bound(host, 0)  # any that is free


def _bound(host: str, port: int) -> socket.socket:
    family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    made = socket.socket(family, kind, protocol)
    try:
        if os.name == "posix":  # elsewhere it would let two programs share a port
            made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind(address)
        made.listen(BACKLOG)
    except BaseException:
        made.close()
        raise
    return made


def _why(error: OSError, host: str, port: int) -> str:
    if error.errno == errno.EADDRINUSE:
        return f"Port {port} is taken by another program; choose another, or none to get one that is free."
    if error.errno == errno.EACCES:
        return f"Port {port} may not be used by you; choose one from 1024 on, or none to get one that is free."
    return f"The server cannot listen on {host!r}, port {port}: {error.strerror or error}."
