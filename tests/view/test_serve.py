"""The viewer's server: what it answers, whom it refuses, and what it survives."""

import gc
import gzip
import json
import socket
import sys
import threading
import time
from contextlib import contextmanager, suppress

import pytest
from asking import Asker
from some_models import PAGE, model_of, network, put_page

import quiltwork as qw
from quiltwork.errors import InputError, MissingDependencyError, QuiltworkError
from quiltwork.view import guard, serve
from quiltwork.view.answers import Answers
from quiltwork.view.document import document, to_json

pytest.importorskip("starlette")

TOKEN, PORT = "a-token", 8733
HOST = f"127.0.0.1:{PORT}"
COOKIE = f"quiltwork-{PORT}={TOKEN}"


@pytest.fixture(autouse=True)
def built(tmp_path, monkeypatch):
    put_page(tmp_path, monkeypatch)


@pytest.fixture(scope="module")
def application():
    return serve.application(Answers.of(qw.textbook("asia"), model_of("bn")), serve.LOOPBACK, PORT, TOKEN)


@pytest.fixture
def visitor(application):
    """Somebody without the token."""
    return Asker(application, {"host": HOST})


@pytest.fixture
def client(application):
    return Asker(application, {"host": HOST, "cookie": COOKIE})


# What it answers


def test_the_first_visit_moves_the_token_into_a_cookie(visitor, client):
    answer = visitor.get(f"/?token={TOKEN}")
    assert answer.status == 303 and answer.headers["location"] == "/"
    cookie = answer.headers["set-cookie"]
    assert COOKIE in cookie and "HttpOnly" in cookie and "samesite=strict" in cookie.lower()
    page = client.get("/")
    assert page.status == 200 and page.text == PAGE["index.html"]
    assert page.headers["content-type"] == "text/html; charset=utf-8"


def test_documents(client):
    assert client.get("/api/document").json() == json.loads(to_json(document(qw.textbook("asia"), room=None)))
    assert client.get("/api/other").json()["strength"]["name"] == "score lost without the arc"
    packed = client.get("/api/document", accept_encoding="br, gzip")
    assert packed.headers["content-encoding"] == "gzip"
    assert gzip.decompress(packed.body) == client.get("/api/document").body


def test_nothing_to_compare_with(client):
    alone = serve.application(Answers.of(qw.textbook("asia")), serve.LOOPBACK, PORT, TOKEN)
    assert Asker(alone, client.headers).get("/api/other").json() is None


@pytest.mark.parametrize(("name", "kind"), [("app.js", "javascript"), ("app.css", "css"), ("licences.txt", "plain")])
def test_assets(client, name, kind):
    answer = client.get(f"/assets/{name}")
    assert answer.text == PAGE[name] and answer.headers["content-type"] == f"text/{kind}; charset=utf-8"


def test_local_distributions(client):
    assert client.get("/api/local/3").json()["rows"] == [[0.1, 0.9], [0.01, 0.99]]
    for v in ("8", "-1", "x", "1.0", "9" * 5000, "%C2%B2", "3/"):
        answer = client.get(f"/api/local/{v}")
        assert answer.status == 404 and answer.json()["error"]


def test_local_distributions_of_the_second_model_speak_of_the_columns_of_the_first(client):
    names = [variable.name for variable in qw.textbook("asia").variables]
    turned = network(8, [*[()] * 7, (0, 6)], names=names[::-1])  # the last but one of its columns is the second
    answers = Answers.of(qw.textbook("asia"), turned, ("asia.bif", "turned.qw"))
    second = Asker(serve.application(answers, serve.LOOPBACK, PORT, TOKEN), client.headers)
    assert second.get("/api/other/0").json()["parents"] == [7, 1]
    assert second.get("/api/local/0").json()["parents"] == []
    assert second.get("/api/other").json()["name"] == "turned.qw"
    assert second.get("/api/document").json()["name"] == "asia.bif"
    alone = Asker(serve.application(Answers.of(turned), serve.LOOPBACK, PORT, TOKEN), client.headers)
    assert alone.get("/api/other/0").status == 404


def test_probabilities_given_evidence(client):
    told = client.post("/api/marginals", {"evidence": {"2": 0}}).json()
    assert told["method"] == "exact" and told["marginals"][3] == [0.1, 0.9]


def test_every_response_forbids_what_a_page_must_not_do(client, visitor):
    answers = [
        client.get("/"),
        client.get("/api/document"),
        client.get("/nowhere"),
        client.get("/", host="evil.example"),
    ]
    answers += [visitor.get("/"), visitor.get(f"/?token={TOKEN}"), client.post("/api/marginals", b"x")]
    for answer in answers:
        policy = answer.headers["content-security-policy"]
        for rule in ("default-src 'self'", "script-src 'self'", "object-src 'none'", "base-uri 'none'"):
            assert rule in policy
        assert "frame-ancestors 'none'" in policy and "unsafe" not in policy and "*" not in policy
        assert answer.headers["x-content-type-options"] == "nosniff" and answer.headers["x-frame-options"] == "DENY"
        assert answer.headers["referrer-policy"] == "no-referrer" and answer.headers["cache-control"] == "no-store"
        assert not [name for name in answer.headers if name.startswith("access-control")]


# Whom it refuses


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "[::1]"])
def test_its_own_names_pass(client, host):
    assert client.get("/", host=f"{host}:{PORT}").status == 200


@pytest.mark.parametrize(
    "host",
    [None, "", "evil.example", f"evil.example:{PORT}", "127.0.0.1", "127.0.0.1:1", f"127.0.0.1.:{PORT}",
     f"localhost.:{PORT}", f"user@127.0.0.1:{PORT}", f"127.0.0.1:{PORT}@evil.example", f"[::ffff:127.0.0.1]:{PORT}",
     f"0.0.0.0:{PORT}", f"127.1:{PORT}", f"::1:{PORT}", f"127.0.0.1:{PORT}, evil.example"],
)  # fmt: skip
def test_other_names_are_refused_even_with_the_token(client, host):
    answer = client.get("/", host=host)
    assert answer.status == 400 and "own name" in answer.json()["error"]


def test_two_names_are_refused(client):
    assert client.ask("GET", "/", {"HOST": HOST}).status == 400


PATHS = ["/", "/api/document", "/api/local/0", "/assets/app.js", "/nowhere", "/?token=wrong", "/?token=", "/?token=%00"]


@pytest.mark.parametrize("path", [*PATHS, f"/api/document?token={TOKEN}"])
def test_without_the_token_nothing_is_told(visitor, path):
    answer = visitor.get(path)
    assert answer.status == 401 and "open the address" in answer.json()["error"]
    assert visitor.post("/api/marginals", {"evidence": {}}).status == 401


def test_a_person_without_the_key_gets_a_page_that_says_where_it_is(visitor):
    accept = "text/html,application/xhtml+xml,*/*;q=0.8"
    answer = visitor.get("/", accept=accept)
    assert answer.status == 401 and answer.headers["content-type"] == "text/html; charset=utf-8"
    assert "open the address that quiltwork printed when it was started last" in answer.text
    assert "default-src 'self'" in answer.headers["content-security-policy"]
    assert "its own name" in visitor.get("/", accept=accept, host="evil.example").text


def test_too_many_requests_are_put_off(client, monkeypatch):
    assert client.get("/").status == 200
    monkeypatch.setattr(guard, "AT_A_TIME", 0)
    answer = client.get("/api/document")
    assert answer.status == 503 and answer.headers["retry-after"] == "1" and "in a moment" in answer.json()["error"]
    assert "default-src 'self'" in answer.headers["content-security-policy"]


@pytest.mark.parametrize("token", ["a-toke", "a-tokenn", "A-TOKEN", "", "é", "a-token\x00"])
def test_a_wrong_cookie_is_refused(visitor, token):
    assert visitor.get("/", cookie=f"quiltwork-{PORT}={token}").status == 401
    assert visitor.get("/", cookie=f"quiltwork-{PORT + 1}={TOKEN}").status == 401


@pytest.mark.parametrize("origin", ["http://evil.example", "null", f"https://{HOST}", f"http://127.0.0.1:{PORT + 1}"])
def test_other_origins_are_refused(client, origin):
    assert client.post("/api/marginals", {"evidence": {"2": 0}}, origin=origin).status == 403
    preflight = client.ask("OPTIONS", "/api/marginals", {"origin": origin, "access-control-request-method": "POST"})
    assert preflight.status == 403 and "access-control-allow-origin" not in preflight.headers


def test_its_own_origin_passes(client):
    assert client.post("/api/marginals", {"evidence": {}}, origin=f"http://{HOST}").status == 200


@pytest.mark.parametrize("kind", [None, "", "text/plain", "application/x-www-form-urlencoded", "multipart/form-data"])
def test_only_json_is_read(client, kind):
    answer = client.post("/api/marginals", {"evidence": {"2": 0}}, content_type=kind)
    assert answer.status == 415 and answer.json()["error"]


def test_a_packed_body_is_not_unpacked(client):
    bomb = gzip.compress(b" " * 2**24)
    assert client.post("/api/marginals", bomb, content_encoding="gzip").status == 415


@pytest.mark.parametrize(
    "path",
    ["/assets/../guard.py", "/assets/..%2fguard.py", "/assets/%2e%2e/guard.py", "/assets/%2e%2e%2fguard.py",
     "/assets/..\\guard.py", "/assets/app.js%00", "/assets/app.js%00.css", "/assets//etc/passwd",
     "/assets/%2fetc%2fpasswd", "/assets/index.html", "/assets/", "/assets", "/assets/extra.txt",
     "/../view/guard.py", "/api", "/api/", "//"],
)  # fmt: skip
def test_no_path_leads_to_another_file(client, tmp_path, path):
    (tmp_path / "extra.txt").symlink_to("/etc/passwd")
    assert client.get(path).status == 404


def test_other_methods(client):
    assert client.get("/api/marginals").status == 405
    assert client.post("/api/document", {}).status == 405
    assert client.ask("DELETE", "/", {}).json()["error"]


def test_only_http_is_spoken(application):
    import asyncio

    asyncio.run(application({"type": "websocket", "headers": []}, None, None))


# What it survives


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"", {400}),
        (b"{", {400}),
        (b"\xff\xfe", {400}),
        (b'{"evidence": {"0": NaN}}', {400}),
        (b'{"evidence": {"0": 1e999}}', {400, 422}),
        (b'{"evidence": ' + b'{"a":' * 100_000, {400}),
        (b"[" * 100_000, {400, 422}),
        (b"[1]", {422}),
        (b'"text"', {422}),
        (b"{}", {422}),
        (b'{"evidence": 3}', {422}),
        (b'{"evidence": {"0": "yes"}}', {422}),
        (b'{"evidence": {"0": 99999999999999999999999999}}', {400, 422}),
        (b'{"evidence": {"77": 0}}', {422}),
        (b'{"evidence": {"1": 0, "5": 1}}', {422}),
        (json.dumps({"evidence": {str(k): 0 for k in range(50_000)}}).encode(), {422}),
    ],
)
def test_bad_questions_get_an_error_and_never_500(client, body, status):
    answer = client.post("/api/marginals", body)
    assert answer.status in status and 0 < len(answer.json()["error"]) < 300


@pytest.mark.parametrize("declared", [guard.MAX_BODY + 1, 200 * 2**20, 10**30, "-1", "x"])
def test_a_body_that_says_it_is_too_long_is_not_read(client, declared):
    pieces = (b"x" for _ in range(100))
    assert client.post("/api/marginals", pieces, content_length=str(declared)).status == 413
    assert len(list(pieces)) >= 98


def test_a_long_body_is_cut_off(client):
    pieces = (b"x" * 65536 for _ in range(3200))  # 200 MB, and it says nothing about its length
    answer = client.post("/api/marginals", pieces)
    assert answer.status == 413 and "1,048,576" in answer.json()["error"]
    assert len(list(pieces)) > 3100
    just = b'{"evidence": {"2": 0}}'.ljust(guard.MAX_BODY)
    assert client.post("/api/marginals", just).status == 200


# A real server


@contextmanager
def running(service):
    thread = threading.Thread(target=service.run)
    thread.start()
    try:
        yield
    finally:
        service.stop()
        thread.join(120)
        assert not thread.is_alive()


def exchange(service, request):
    """What the server answers to these bytes before it closes the connection."""
    with socket.create_connection(service.socket.getsockname()[:2], timeout=120) as wire:
        answer = b""
        with suppress(ConnectionError):  # what was not read when it closed is lost
            wire.sendall(request)
            while piece := wire.recv(65536):
                answer += piece
        return answer


def test_a_real_server_shows_a_model_and_survives(monkeypatch):
    monkeypatch.setattr(guard, "SECONDS", 120.0)  # whoever asks as they should has time, however busy the machine is
    service = serve.serve(qw.textbook("asia"), port=0)
    host, port = service.socket.getsockname()[:2]
    assert host == "127.0.0.1" and service.url.startswith(f"http://127.0.0.1:{port}/?token=")
    cookie = f"quiltwork-{port}={service.url.partition('token=')[2]}"
    head = f"Host: 127.0.0.1:{port}\r\nCookie: {cookie}\r\nConnection: close\r\n".encode()
    post = b"POST /api/marginals HTTP/1.1\r\nContent-Type: application/json\r\n" + head
    question = b'{"evidence": {"2": 0}}'
    with running(service):
        token = service.url.partition("/?")[2].encode()
        visit = exchange(service, b"GET /?" + token + b" HTTP/1.1\r\n" + head + b"\r\n")
        assert visit.startswith(b"HTTP/1.1 303") and cookie.encode() in visit
        assert PAGE["index.html"].encode() in exchange(service, b"GET / HTTP/1.1\r\n" + head + b"\r\n")
        told = exchange(service, post + b"Content-Length: 22\r\n\r\n" + question)
        assert b"[0.1,0.9]" in told
        flood = exchange(service, b"GET / HTTP/1.1\r\nX: " + b"x" * (guard.MAX_HEAD + 1))
        assert flood == b"" or flood.startswith(b"HTTP/1.1 400")
        whole = exchange(service, b"GET / HTTP/1.1\r\nX: " + b"x" * (guard.MAX_HEAD + 1) + b"\r\n" + head + b"\r\n")
        assert whole == b"" or whole.startswith(b"HTTP/1.1 400")
        large = json.dumps({"evidence": {"2": 0}}).encode().ljust(guard.MAX_HEAD + 1)  # a body may be larger
        told = exchange(service, post + f"Content-Length: {len(large)}\r\n\r\n".encode() + large)
        assert told.startswith(b"HTTP/1.1 200") and b"[0.1,0.9]" in told
        assert exchange(service, b"\x00\x01 nonsense\r\n\r\n").startswith(b"HTTP/1.1 400")
        assert exchange(service, b"GET / HTTP/1.1\r\nConnection: close\r\n\r\n").startswith(b"HTTP/1.1 400")  # no Host
        raw = exchange(service, b"GET /assets/../../../../etc/passwd HTTP/1.1\r\n" + head + b"\r\n")
        assert raw.startswith(b"HTTP/1.1 404")
        monkeypatch.setattr(guard, "SECONDS", 0.5)
        assert exchange(service, b"GET / HTTP/1.1\r\nHost: 127") == b""  # half a header, and then nothing: cut off
        slow = exchange(service, post + b"Content-Length: 100\r\n\r\n{")  # the rest never comes
        assert slow == b"" or slow.startswith(b"HTTP/1.1 408")
        monkeypatch.setattr(guard, "SECONDS", 120.0)
        assert exchange(service, b"GET /api/document HTTP/1.1\r\n" + head + b"\r\n").startswith(b"HTTP/1.1 200")


def test_a_question_that_nobody_waits_for_is_not_answered():
    """While one is answered another is asked, and given up: when its turn comes there is nobody to tell."""
    asked, first_begun, go_on = [], threading.Event(), threading.Event()

    class Slow(Answers):
        def marginals(self, evidence):
            asked.append(evidence)
            first_begun.set()
            assert go_on.wait(120)
            return {}

    plain = Answers.of(qw.textbook("asia"))
    service = serve.serve(qw.textbook("asia"), port=0)
    port, token = service.socket.getsockname()[1], service.url.partition("token=")[2]
    service.server.config.app = serve.application(Slow(plain.model, plain.document), serve.LOOPBACK, port, token)
    head = f"Host: 127.0.0.1:{port}\r\nCookie: quiltwork-{port}={token}\r\nContent-Type: application/json\r\n"

    def ask(state):
        body = json.dumps({"evidence": {"2": state}})
        wire = socket.create_connection(("127.0.0.1", port), timeout=120)
        wire.sendall(f"POST /api/marginals HTTP/1.1\r\n{head}Content-Length: {len(body)}\r\n\r\n{body}".encode())
        return wire

    def until_it_hears(n_connections):
        deadline = time.monotonic() + 120
        while len(service.server.server_state.connections) != n_connections:
            assert time.monotonic() < deadline
            time.sleep(0.01)

    with running(service), ask(0) as first:
        assert first_begun.wait(120)
        given_up = ask(1)
        until_it_hears(2)
        given_up.close()
        until_it_hears(1)
        with ask(0) as last:
            go_on.set()
            assert first.recv(4096).startswith(b"HTTP/1.1 200") and last.recv(4096).startswith(b"HTTP/1.1 200")
    assert asked == [{"2": 0}, {"2": 0}]


def test_it_stops_when_told_to():
    with running(serve.serve(qw.textbook("asia"), port=0)):
        pass


def test_ctrl_c_before_it_has_begun_ends_it_in_peace(monkeypatch, recwarn):
    def interrupted(runner, answering):
        raise KeyboardInterrupt

    monkeypatch.setattr("asyncio.Runner.run", interrupted)
    service = serve.serve(qw.textbook("asia"), port=0)
    with service.socket:
        service.run()
    gc.collect()
    assert not recwarn.list


# Where it listens


def taken(port=0):
    made = socket.socket()
    made.bind(("127.0.0.1", port))
    made.listen()
    return made


def test_a_port_that_is_taken():
    with taken() as other:
        port = other.getsockname()[1]
        with pytest.raises(InputError, match=f"Port {port} is taken"):
            serve.serve(qw.textbook("asia"), port=port)


def test_without_a_port_the_next_free_one_is_found(monkeypatch):
    with taken() as other:
        monkeypatch.setattr(serve, "PORT", other.getsockname()[1])
        service = serve.serve(qw.textbook("asia"))
        with service.socket as bound:
            assert bound.getsockname()[1] != serve.PORT
        monkeypatch.setattr(serve, "TRIES", 1)
        with serve.serve(qw.textbook("asia")).socket as bound:
            assert bound.getsockname()[1] != serve.PORT


@pytest.mark.parametrize(("host", "port"), [("127.0.0.1", 70_000), ("no.such.host.invalid", 0), ("192.0.2.77", 0)])
def test_an_address_that_cannot_be(host, port):
    with pytest.raises(InputError):
        serve.serve(qw.textbook("asia"), host=host, port=port)


def test_another_address_than_this_machine_s_warns_and_keeps_the_token():
    written = {"192.168.1.7": "192.168.1.7", "FE80:0::1": "[fe80::1]", "Example.org": "example.org"}  # by browsers
    for host, name in written.items():
        names, warning = serve._names(host)
        assert names == (name,) and "Other machines can reach the viewer" in warning
    for everywhere in ("0.0.0.0", "::"):
        with pytest.raises(InputError, match="give the one address"):
            serve._names(everywhere)
    assert serve._names("127.0.0.1") == serve._names("LocalHost") == (serve.LOOPBACK, "")
    assert serve._names("127.0.0.9") == (("127.0.0.9",), "")


def test_without_its_packages_one_sentence_says_what_to_do(monkeypatch):
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    with pytest.raises(MissingDependencyError, match=r"pip install 'quiltwork\[serve\]'"):
        serve.serve(qw.textbook("asia"))


def test_without_the_page_nothing_is_served(tmp_path):
    (tmp_path / "app.js").unlink()
    with pytest.raises(QuiltworkError, match="make viewer"):
        serve.serve(qw.textbook("asia"), port=0)
