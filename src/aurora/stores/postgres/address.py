"""Where a memory in PostgreSQL is: its URL taken apart, and as it may be shown."""

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
    """Who knows the URL knows the password: only `shown` is for messages."""

    url: str
    schema: str
    shown: str
    is_several: bool  # hosts: those that are written to may be others than those that are read

    def __repr__(self) -> str:
        return f"Address({self.shown})"


def is_postgres(url: str) -> bool:
    return url.startswith(_SCHEMES)


class Openly(NamedTuple):
    """An address without its password, and the line of ~/.pgpass that would hold it."""

    url: str
    pgpass: str  # empty where there was no password


def without_password(url: str, schema: str = DEFAULT_SCHEMA) -> Openly:
    """For a file that others may read. `ConfigError` where the password cannot be cut out."""
    parse_address(url, schema)
    parts = conninfo_to_dict(url)
    if not parts.get("password"):
        return Openly(url, "")
    bare = _LOGIN.sub(r"\1@", _PARAMETER.sub("", url), count=1).replace("?&", "?").rstrip("?&")
    known = {name: value for name, value in parts.items() if name != "password"}
    if conninfo_to_dict(bare) != known:
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
    """False where a password that was not encoded may have become part of a host or a name."""
    login, _, path = url.partition("?")[0].partition("://")[2].partition("/")
    numbers = [port for port in ports.split(",") if port]
    if any(map(str.isspace, login + path)):
        return False
    return login.count("@") <= 1 and "@" not in path and all(map(str.isdecimal, numbers))


def _shown_schema(schema: str) -> str:
    return repr(schema) if "@" not in schema else "What stands behind the #"


def parse_address(url: str, schema: str = DEFAULT_SCHEMA) -> Address:
    """Raises `ConfigError` for what is no address, without repeating it: it may hold a password."""
    try:
        parts = conninfo_to_dict(url) if is_postgres(url) else None
    except psycopg.Error:
        parts = None
    if parts is None or not _is_plain(url, str(parts.get("port") or "")):
        raise ConfigError(
            "This is no address of a PostgreSQL server",
            hint="write postgresql://USER@HOST:PORT/DATABASE; in a password, %-encode what is no "
            "letter or digit (@ is %40, / is %2F, # is %23, ? is %3F)",
        )
    if not _NAME.fullmatch(schema) or schema.startswith("pg_"):
        raise ConfigError(
            f"{_shown_schema(schema)} is no name of a schema for a memory",
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
