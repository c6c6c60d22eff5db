"""Requests to an ASGI application without a network, exactly as they are given: no path or header is tidied up."""

import asyncio
import json
from dataclasses import dataclass, field
from urllib.parse import unquote


@dataclass
class Answer:
    status: int
    headers: dict
    body: bytes

    @property
    def text(self):
        return self.body.decode()

    def json(self):
        return json.loads(self.body)


@dataclass
class Asker:
    """Somebody who sends requests; `headers` go with all of them."""

    app: object
    headers: dict = field(default_factory=dict)

    def get(self, target, **headers):
        return self.ask("GET", target, headers)

    def post(self, target, body, **headers):
        """Post bytes, pieces of bytes (which may never end), or a value as JSON."""
        if not isinstance(body, bytes) and not hasattr(body, "__next__"):
            body = json.dumps(body).encode()
        return self.ask("POST", target, {"content_type": "application/json", **headers}, body)

    def ask(self, method, target, headers, body=b""):
        path, _, query = target.partition("?")
        named = {
            name.replace("_", "-"): value for name, value in {**self.headers, **headers}.items() if value is not None
        }
        scope = {
            "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": method, "scheme": "http",
            "path": unquote(path), "raw_path": path.encode(), "query_string": query.encode(), "root_path": "",
            "headers": [(k.lower().encode(), v.encode("latin-1", "replace")) for k, v in named.items()],
            "client": ("127.0.0.1", 1), "server": ("127.0.0.1", 1),
        }  # fmt: skip
        return asyncio.run(
            asyncio.wait_for(_exchange(self.app, scope, iter([body] if isinstance(body, bytes) else body)), 30)
        )


async def _exchange(app, scope, pieces):
    sent = []
    ahead = [next(pieces, b"")]

    async def receive():
        piece = ahead.pop()
        ahead.append(next(pieces, None))
        return {"type": "http.request", "body": piece, "more_body": ahead[0] is not None}

    async def send(message):
        sent.append(message)

    await app(scope, receive, send)
    start = sent[0]
    headers = {name.decode().lower(): value.decode("latin-1") for name, value in start["headers"]}
    return Answer(start["status"], headers, b"".join(message.get("body", b"") for message in sent[1:]))
