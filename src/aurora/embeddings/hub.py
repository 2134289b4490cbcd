"""Download the files of a model from a hub such as huggingface.co. No credentials are sent."""

from __future__ import annotations

import hashlib
import http.client
import re
from dataclasses import dataclass
from pathlib import Path
from typing import IO
from urllib.error import HTTPError, URLError
from urllib.parse import quote, urlsplit
from urllib.request import HTTPRedirectHandler, Request, build_opener

from aurora.errors import EmbeddingError
from aurora.types import Listener, Note, Progress, ignore_events

HUB = "https://huggingface.co"
_REPOSITORY = re.compile(r"[\w-][\w.-]*/[\w-][\w.-]*", re.ASCII)
_REVISION = re.compile(r"\w[\w.-]*(/\w[\w.-]*)*", re.ASCII)
_SHA256 = re.compile(r'(?:W/)?"?([0-9a-f]{64})"?')
_SILENCE = 30.0  # seconds without a byte after which a connection is closed
_BY_HAND = "download the files by hand, then give their folder with --from"
_MEGABYTE = 1_000_000
MOST_WEIGHTS = 4_000 * _MEGABYTE  # the largest encoders
_MOST_TEXT = 100 * _MEGABYTE  # a tokenizer of 250,000 pieces has 17
_BLOCK = 1 << 20


@dataclass(frozen=True, slots=True)
class HubModel:
    """A repository of a hub at one revision."""

    repository: str
    revision: str = "main"
    endpoint: str = HUB
    silence: float = _SILENCE

    def __post_init__(self) -> None:
        if not (_REPOSITORY.fullmatch(self.repository) and _REVISION.fullmatch(self.revision)):
            raise EmbeddingError(
                f"{self} is not a model of a hub",
                hint="write it as hub:OWNER/NAME or hub:OWNER/NAME@REVISION",
            )
        address = urlsplit(self.endpoint)
        if address.scheme not in ("https", "http") or not address.hostname or address.username:
            raise EmbeddingError(
                # Without the value: it may hold a password.
                "HF_ENDPOINT is not the address of a hub",
                hint=f"set it to an address such as {HUB}, without a user name",
            )

    def __str__(self) -> str:
        return f"{self.repository}@{self.revision}"

    def get(self, file: str, target: Path, *, listen: Listener = ignore_events) -> bool:
        """Download one file; False when the repository has none of that name.

        The file must have the digest that the hub declares.
        """
        request = Request(  # noqa: S310 - http or https, as checked above
            f"{self.endpoint.rstrip('/')}/{self.repository}/resolve/"
            f"{quote(self.revision, safe='')}/{file}",
            headers={"User-Agent": "aurora", "Accept-Encoding": "identity"},
        )
        redirects = _Redirects()
        try:
            with build_opener(redirects).open(request, timeout=self.silence) as response:
                digest = _save(response, target, listen)
                declared = redirects.digest or _declared_digest(response.headers)
        except HTTPError as exc:
            exc.close()
            if exc.code == http.client.NOT_FOUND:
                return False
            raise EmbeddingError(f"The hub answers {file} with {exc.code}", hint=_BY_HAND) from exc
        except (OSError, ValueError, http.client.HTTPException) as exc:
            raise EmbeddingError(
                f"{file} was not downloaded: {_reason(exc)}", hint=_BY_HAND
            ) from exc
        if declared:
            require_digest(file, digest, declared)
        elif not file.endswith(".json"):
            text = f"The hub declares no digest of {file}: it is used without a check"
            listen(Note(text, warning=True))
        return True


def _save(response: http.client.HTTPResponse, target: Path, listen: Listener) -> str:
    """Write the body to a file, and return its sha256."""
    name, length = target.name, int(response.headers.get("Content-Length") or 0)
    limit = most_bytes(name)
    if length > limit:
        raise EmbeddingError(f"{name} is too large: {length:,} bytes")
    target.parent.mkdir(exist_ok=True)
    digest, done = hashlib.sha256(), 0
    with target.open("wb") as out:
        while block := response.read1(_BLOCK):  # `read` would wait for a whole block
            done += len(block)
            if done > limit:
                raise EmbeddingError(f"Downloading {name}: more than {limit // _MEGABYTE} MB")
            digest.update(block)
            out.write(block)
            progress = done // _MEGABYTE, length // _MEGABYTE
            listen(Progress(f"Downloading {name} (MB)", *progress))
    if length and done != length:
        raise EmbeddingError(
            f"{name} was cut off after {done:,} of {length:,} bytes", hint="try again"
        )
    return digest.hexdigest()


class _Redirects(HTTPRedirectHandler):
    """Follows to where large files are, never from https to http; keeps the hub's own digest."""

    def __init__(self) -> None:
        self.digest = ""

    def redirect_request(  # noqa: PLR0917 - as it is inherited
        self,
        req: Request,
        fp: IO[bytes],
        code: int,
        msg: str,
        headers: http.client.HTTPMessage,
        newurl: str,
    ) -> Request | None:
        if urlsplit(newurl).scheme not in ("https", req.type):
            raise URLError("it leads to an address that is not encrypted")
        self.digest = self.digest or _declared_digest(headers)  # the first answer is the hub's own
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def _declared_digest(headers: http.client.HTTPMessage) -> str:
    for header in ("X-Linked-ETag", "ETag"):
        if digest := _SHA256.fullmatch(headers.get(header, "")):
            return digest[1]
    return ""


def _reason(exc: Exception) -> str:
    """Without the address: the one of a large file may hold a key."""
    if isinstance(exc, TimeoutError) or isinstance(getattr(exc, "reason", None), TimeoutError):
        return "the hub went silent"
    if isinstance(exc, URLError):
        return str(getattr(exc.reason, "strerror", None) or exc.reason)
    return getattr(exc, "strerror", None) or type(exc).__name__


def most_bytes(name: str) -> int:
    """How large a file of that name may be."""
    return _MOST_TEXT if name.endswith(".json") else MOST_WEIGHTS


def require_digest(name: str, digest: str, expected: str) -> None:
    if digest != expected:
        raise EmbeddingError(
            f"{name} has the sha256 {digest}, not {expected}",
            hint="the file is damaged, or another one: get it again",
        )
