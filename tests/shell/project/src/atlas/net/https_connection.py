"""Connections that are encrypted and checked."""

import socket
import ssl


class HTTPSConnection:
    """One TLS connection to one host; certificates are always verified."""

    def __init__(self, host, port=443, timeout=30.0):
        self.host = host
        self.port = port
        self.timeout = timeout
        self.socket = None

    def connect(self):
        plain = socket.create_connection((self.host, self.port), self.timeout)
        context = ssl.create_default_context()
        self.socket = context.wrap_socket(plain, server_hostname=self.host)

    def close(self):
        if self.socket is not None:
            self.socket.close()
            self.socket = None
