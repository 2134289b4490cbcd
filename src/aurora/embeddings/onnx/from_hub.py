"""Files of a model from a hub that speaks as huggingface.co does. No credentials are ever sent."""

from __future__ import annotations

import http.client
import re
from dataclasses import dataclass
from pathlib import Path
from typing import IO
from urllib.error import HTTPError, URLError
from urllib.parse import quote, urlsplit
from urllib.request import HTTPRedirectHandler, Request, build_opener

from aurora.embeddings.onnx.copying import copy, limit_of, require_digest
from aurora.errors import EmbeddingError
from aurora.types import Listener, Note, ignore_events

HUB = "https://huggingface.co"
_REPOSITORY = re.compile(r"[\w-][\w.-]*/[\w-][\w.-]*", re.ASCII)
_REVISION = re.compile(r"\w[\w.-]*(/\w[\w.-]*)*", re.ASCII)
_SHA256 = re.compile(r'(?:W/)?"?([0-9a-f]{64})"?')
_SILENCE = 30.0  # seconds without a byte until a connection is given up
_BY_HAND = "download the files by hand, then give their folder with --from"


@dataclass(frozen=True, slots=True)
class HubModel:
    """A repository of a hub, as it was at one revision."""

    repository: str
    revision: str = "main"
    endpoint: str = HUB
    silence: float = _SILENCE

    def __post_init__(self) -> None:
        if not (_REPOSITORY.fullmatch(self.repository) and _REVISION.fullmatch(self.revision)):
            raise EmbeddingError(
                f"{self} is no model of a hub",
                hint="write it as hub:OWNER/NAME or hub:OWNER/NAME@REVISION",
            )
        address = urlsplit(self.endpoint)
        if address.scheme not in ("https", "http") or not address.hostname or address.username:
            raise EmbeddingError(
                "HF_ENDPOINT is no address of a hub",  # not said: it may hold a password
                hint=f"set it to an address such as {HUB}, without a user's name",
            )

    def __str__(self) -> str:
        return f"{self.repository}@{self.revision}"

    def get(
        self, file: str, target: Path, *, sha256: str = "", listen: Listener = ignore_events
    ) -> bool:
        """Download one file; False when the repository has none of that name.

        It must have the digest that is given, or else the one that the hub tells.
        """
        request = Request(  # noqa: S310 - http or https, as checked above
            f"{self.endpoint.rstrip('/')}/{self.repository}/resolve/"
            f"{quote(self.revision, safe='')}/{file}",
            headers={"User-Agent": "aurora", "Accept-Encoding": "identity"},
        )
        redirects = _Redirects()
        try:
            opener = build_opener(redirects)
            with opener.open(request, timeout=self.silence) as response:
                found = _save(response, target, listen)
                told = redirects.told or _told(response.headers)
        except HTTPError as exc:
            exc.close()
            if exc.code == http.client.NOT_FOUND:
                return False
            raise EmbeddingError(f"The hub answers {file} with {exc.code}", hint=_BY_HAND) from exc
        except (OSError, ValueError, http.client.HTTPException) as exc:
            raise EmbeddingError(f"{file} did not come: {_reason(exc)}", hint=_BY_HAND) from exc
        if sha256 or told:
            require_digest(file, found, sha256 or told)
        elif not file.endswith(".json"):
            listen(Note(f"The hub tells no digest of {file}: it is taken as it came", warning=True))
        return True


def _save(response: http.client.HTTPResponse, target: Path, listen: Listener) -> str:
    """Returns the sha256 of what came."""
    name, length = target.name, int(response.headers.get("Content-Length") or 0)
    if length > limit_of(name):
        raise EmbeddingError(f"{name} is too large: {length:,} bytes")
    target.parent.mkdir(exist_ok=True)
    with target.open("wb") as out:
        found = copy(
            _Arriving(response),
            out,
            limit=limit_of(name),
            task=f"Downloading {name}",
            total=length,
            listen=listen,
        )
        arrived = out.tell()
    if length and arrived != length:
        raise EmbeddingError(
            f"{name} was cut off after {arrived:,} of {length:,} bytes", hint="try again"
        )
    return found


class _Arriving:
    """Gives what has come so far, where a response would wait for all that was asked for."""

    def __init__(self, response: http.client.HTTPResponse) -> None:
        self._response = response

    def read(self, size: int, /) -> bytes:
        return self._response.read1(size)


class _Redirects(HTTPRedirectHandler):
    """Follows to where large files lie, never from https to less; keeps the hub's own digest."""

    def __init__(self) -> None:
        self.told = ""

    def redirect_request(  # noqa: PLR0917 - as it is inherited
        self,
        req: Request,
        fp: IO[bytes],
        code: int,
        msg: str,
        headers: http.client.HTTPMessage,
        newurl: str,
    ) -> Request | None:
        scheme = urlsplit(newurl).scheme
        if scheme not in ("https", req.type):
            raise URLError("it leads to an address that is not encrypted")
        self.told = self.told or _told(headers)  # the first to tell is the hub itself
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def _told(headers: http.client.HTTPMessage) -> str:
    for header in ("X-Linked-ETag", "ETag"):
        if digest := _SHA256.fullmatch(headers.get(header, "")):
            return digest[1]
    return ""


def _reason(exc: Exception) -> str:
    """Without the address: where a large file lies, it may hold a key."""
    if isinstance(exc, TimeoutError) or isinstance(getattr(exc, "reason", None), TimeoutError):
        return "the hub went silent"
    if isinstance(exc, URLError):
        return str(getattr(exc.reason, "strerror", None) or exc.reason)
    return getattr(exc, "strerror", None) or type(exc).__name__
