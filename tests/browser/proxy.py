"""A small reverse proxy in front of the app: strips a prefix, forwards another host, ends TLS."""

from __future__ import annotations

import contextlib
import http.client
import http.server
import ssl
import subprocess
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

HOP_BY_HOP = {"connection", "keep-alive", "transfer-encoding", "te", "upgrade", "host"}


@dataclass(frozen=True)
class Rules:
    """How the proxy changes requests.

    prefix  what it takes off the front of every path; other paths are not found
    host    the Host header that it sends on; None: the one that came
    tls     whether browsers speak TLS to it
    """

    prefix: str = ""
    host: str | None = None
    tls: bool = False


@contextlib.contextmanager
def behind_proxy(target: str, rules: Rules, folder: Path) -> Iterator[str]:
    """The address of `target` behind a proxy, as long as it is entered; `folder` for a key."""
    handler = type("Handler", (_Handler,), {"target": urlsplit(target).netloc, "rules": rules})
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    if rules.tls:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(_certificate(folder))
        server.socket = context.wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    scheme = "https" if rules.tls else "http"
    try:
        yield f"{scheme}://localhost:{server.server_port}{rules.prefix}"
    finally:
        server.shutdown()
        server.server_close()


def _certificate(folder: Path) -> Path:
    """A certificate that nobody signed, and its key, in one file."""
    key, certificate, both = (folder / name for name in ("key.pem", "cert.pem", "both.pem"))
    command = [
        "openssl",
        "req",
        "-x509",
        "-newkey",
        "rsa:2048",
        "-nodes",
        "-days",
        "2",
        "-subj",
        "/CN=localhost",
    ]
    command += ["-keyout", str(key), "-out", str(certificate)]
    subprocess.run(command, check=True, capture_output=True)
    both.write_text(key.read_text() + certificate.read_text())
    return both


class _Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.0"  # an answer ends with its connection: streams need no length
    target: str
    rules: Rules

    def _forward(self) -> None:
        path = self.path
        if not path.startswith(f"{self.rules.prefix}/"):
            self.send_error(404)
            return
        length = int(self.headers.get("content-length") or 0)
        headers = {n: v for n, v in self.headers.items() if n.lower() not in HOP_BY_HOP}
        headers["Host"] = self.rules.host or self.headers["host"]
        if self.rules.tls:
            headers["X-Forwarded-Proto"] = "https"
        connection = http.client.HTTPConnection(self.target, timeout=60)
        with contextlib.closing(connection), contextlib.suppress(ConnectionError):
            body = self.rfile.read(length)
            connection.request(self.command, path[len(self.rules.prefix) :], body, headers)
            self._answer(connection.getresponse())

    def _answer(self, response: http.client.HTTPResponse) -> None:
        self.send_response(response.status)
        for name, value in response.getheaders():
            if name.lower() not in HOP_BY_HOP:
                self.send_header(name, value)
        self.end_headers()
        while chunk := response.read1(1 << 16):
            self.wfile.write(chunk)
            self.wfile.flush()

    do_GET = do_POST = do_HEAD = do_PUT = do_DELETE = _forward  # noqa: N815 - http.server's names

    def log_message(self, *args: object) -> None:
        pass
