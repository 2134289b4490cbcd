"""Requests to other services."""

import json

from atlas.errors.retry import retry
from atlas.net.https_connection import HTTPSConnection


class ConnectionPool:
    """Keeps an open connection for every host."""

    def __init__(self, most=8):
        self.most = most
        self.open: dict[str, HTTPSConnection] = {}

    def connection(self, host):
        if host not in self.open:
            if len(self.open) >= self.most:
                self.open.pop(next(iter(self.open))).close()
            self.open[host] = HTTPSConnection(host)
            self.open[host].connect()
        return self.open[host]


def post_json(pool, host, path, values):
    """Send JSON and read JSON, with retries when the line breaks."""
    body = json.dumps(values).encode()
    return retry(lambda: send(pool.connection(host), "POST", path, body))


def send(connection, method, path, body=b""):
    head = f"{method} {path} HTTP/1.1\r\nHost: {connection.host}\r\n"
    connection.socket.sendall(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
    return json.loads(connection.socket.makefile("rb").read())
