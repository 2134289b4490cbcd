"""Parses the URL of a memory in PostgreSQL, and shows it without its password."""

from __future__ import annotations

import re
from typing import NamedTuple

import psycopg
from psycopg.conninfo import conninfo_to_dict

from aurora.errors import ConfigError

DEFAULT_SCHEMA = "aurora"
_NAME = re.compile(r"[a-z_][a-z0-9_]{0,62}")
_LOGIN = re.compile(r"(?<=://)([^/@:]*):[^/@]*@")
_PARAMETER = re.compile(r"(?<=[?&])password=[^&]*&?")
_SCHEMES = ("postgresql://", "postgres://")


class Address(NamedTuple):
    """The URL may contain a password, so that only `shown` is for messages."""

    url: str
    schema: str
    shown: str
    is_several: bool  # hosts, of which only the primary can be written

    def __repr__(self) -> str:
        return f"Address({self.shown})"


def is_postgres(url: str) -> bool:
    return url.startswith(_SCHEMES)


class Openly(NamedTuple):
    """An address without its password, and a line of ~/.pgpass for it."""

    url: str
    pgpass: str  # empty if there is no password


def without_password(url: str, schema: str = DEFAULT_SCHEMA) -> Openly:
    """An address for a file that others may read. `ConfigError` if the password cannot be cut."""
    parse_address(url, schema)
    parts = conninfo_to_dict(url)
    if not parts.get("password"):
        return Openly(url, "")
    bare = _LOGIN.sub(r"\1@", _PARAMETER.sub("", url), count=1).replace("?&", "?").rstrip("?&")
    if conninfo_to_dict(bare) != {name: parts[name] for name in parts if name != "password"}:
        raise ConfigError(
            "The password cannot be taken out of this address",
            hint="write it without one, and put the password into PGPASSWORD or ~/.pgpass",
        )
    host, port = str(parts.get("host") or "localhost"), str(parts.get("port") or "5432")
    user, database = parts.get("user") or "USER", parts.get("dbname") or parts.get("user") or "*"
    where = (host, port) if "," not in host + port else ("*", "*")
    line = (str(word).replace("\\", r"\\").replace(":", r"\:") for word in (*where, database, user))
    return Openly(bare, ":".join((*line, "PASSWORD")))


def _is_plain(url: str, ports: str) -> bool:
    """False if an unencoded password may have become part of a host or a name."""
    login, _, path = url.partition("?")[0].partition("://")[2].partition("/")
    numbers = [port for port in ports.split(",") if port]
    if any(map(str.isspace, login + path)):
        return False
    return login.count("@") <= 1 and "@" not in path and all(map(str.isdecimal, numbers))


def parse_address(url: str, schema: str = DEFAULT_SCHEMA) -> Address:
    """`ConfigError` if it is invalid, without repeating it: it may contain a password."""
    try:
        parts = conninfo_to_dict(url) if is_postgres(url) else None
    except psycopg.Error:
        parts = None
    if parts is None or not _is_plain(url, str(parts.get("port") or "")):
        raise ConfigError(
            "This is not the address of a PostgreSQL server",
            hint="write postgresql://USER@HOST:PORT/DATABASE; in a password, %-encode all but "
            "letters and digits (@ is %40, / is %2F, # is %23, ? is %3F)",
        )
    if not _NAME.fullmatch(schema) or schema.startswith("pg_"):
        shown = repr(schema) if "@" not in schema else "What stands behind the #"
        raise ConfigError(
            f"{shown} is not the name of a schema for a memory",
            hint="small letters, digits and _, such as `store.schema: my_project`",
        )
    named = str(parts.get("host") or parts.get("hostaddr") or "localhost").split(",")
    hosts = [f"[{host}]" if ":" in host else host for host in named]
    ports = str(parts.get("port") or "").split(",")
    where = ",".join(
        f"{host}:{port}" if port else host
        for host, port in zip(hosts, ports * (len(hosts) if len(ports) == 1 else 1), strict=False)
    )
    user = f"{parts['user']}@" if parts.get("user") else ""
    database = parts.get("dbname") or parts.get("user") or ""
    shown = f"postgresql://{user}{where}/{database}"
    shown += f" (schema {schema})" if schema != DEFAULT_SCHEMA else ""
    return Address(url, schema, shown, len(hosts) > 1)
