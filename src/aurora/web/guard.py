"""Who may ask: a one-time link, then a cookie; `Host` and `Origin` checked; headers for browsers.

Any page in the browser can send requests to this machine, and a name of another site may be made to
lead here. So only this server's own address is accepted as `Host` and `Origin`, and the cookie is
never sent with a request that another site starts.
"""

from __future__ import annotations

import hmac
import secrets
from urllib.parse import parse_qs

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import cookie_parser
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from aurora.serving.connections import let_in

HOST = "127.0.0.1"
API = "/api/"
_MOST_LINKS = 100  # that wait to be used; the oldest is forgotten first
_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; "
    "img-src 'self' data:; connect-src 'self'; font-src 'self'; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}
_NO_ENTRY = """<!doctype html><html lang="en"><meta charset="utf-8"><title>Aurora</title>
<h1>This browser has no access to Aurora</h1>
<p>A link opens Aurora in one browser, once. This one is used up, or it is missing. Start
<code>aur ui</code> again, or copy a new link from the browser where the page is open.</p></html>"""


class Access:
    """The links that open the page once, and the cookie of the browsers that used one."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.cookie_name = f"aurora-{port}"  # browsers send cookies to every port of a host
        self._cookie = secrets.token_urlsafe(32)
        self._links: dict[str, None] = {}

    def new_link(self) -> str:
        token = secrets.token_urlsafe(32)
        self._links[token] = None
        while len(self._links) > _MOST_LINKS:
            del self._links[next(iter(self._links))]
        return f"http://{HOST}:{self.port}/?token={token}"

    def use_link(self, token: str) -> bool:
        """Whether this opens the page. It does so once."""
        used = [link for link in self._links if _is_same(link, token)]
        for link in used:
            del self._links[link]
        return bool(used)

    def has_cookie(self, header: str) -> bool:
        return _is_same(cookie_parser(header).get(self.cookie_name, ""), self._cookie)

    def let_in(self) -> Response:
        """To the page, with the cookie and without the token in the address."""
        answer = RedirectResponse("/", status_code=303)
        answer.set_cookie(self.cookie_name, self._cookie, httponly=True, samesite="strict")
        return answer


class Guard:
    """Refuses what does not come from the page of this server in a browser that used a link."""

    def __init__(self, app: ASGIApp, access: Access, *, read_only: bool) -> None:
        self._app, self._access, self._read_only = app, access, read_only
        port = "" if access.port == 80 else f":{access.port}"  # browsers leave 80 out
        self._hosts = {f"{name}{port}" for name in (HOST, "localhost")}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        is_api = scope["path"].startswith(API)

        async def send_safely(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    headers.setdefault(name, value)
                headers.setdefault("Cache-Control", "no-store" if is_api else "no-cache")
            await send(message)

        headers = Headers(scope=scope)
        answer = self._refuse_foreign(headers, is_api=is_api)
        answer = answer or self._answer_for(scope, headers, is_api=is_api)
        if answer is None:
            let_in(scope)
        await (answer or self._app)(scope, receive, send_safely)

    def _refuse_foreign(self, headers: Headers, *, is_api: bool) -> Response | None:
        """The refusal of what another site or another name of this machine asks."""
        host, origins = headers.getlist("host"), headers.getlist("origin")
        if len(host) != 1 or host[0].lower() not in self._hosts:
            return refuse(403, "This name does not lead to Aurora", "open the link of `aur ui`")
        if any(origin.lower() != f"http://{host[0].lower()}" for origin in origins):
            return refuse(403, "Another site may not ask Aurora")
        if is_api and headers.get("sec-fetch-site", "none") not in ("none", "same-origin"):
            return refuse(403, "Another site may not ask Aurora")
        return None

    def _answer_for(self, scope: Scope, headers: Headers, *, is_api: bool) -> Response | None:
        """What to answer instead of the application; None for a request of the page."""
        knows = self._access.has_cookie("; ".join(headers.getlist("cookie")))
        token = parse_qs(scope["query_string"].decode("latin-1")).get("token", [""])[0]
        if scope["path"] == "/" and token and (self._access.use_link(token) or knows):
            return self._access.let_in()
        if not knows:
            if is_api:
                return refuse(401, "This browser has not opened Aurora", "start `aur ui` again")
            return HTMLResponse(_NO_ENTRY, status_code=401)
        if scope["method"] == "POST":
            return self._check_change(scope["path"], headers)
        return None

    def _check_change(self, path: str, headers: Headers) -> Response | None:
        is_own = "origin" in headers or headers.get("sec-fetch-site") == "same-origin"
        if not is_own:
            return refuse(403, "A change must come from the page itself")
        if headers.get("content-type", "").partition(";")[0].strip() != "application/json":
            return refuse(415, "A change is JSON", "send Content-Type: application/json")
        if self._read_only and path not in _CHANGES_NOTHING:
            hint = "start `aur ui` without --read-only"
            return refuse(403, "This page was opened to read only", hint)
        return None


_CHANGES_NOTHING = {"/api/links", "/api/selfcheck", "/api/forget/preview"}


def refuse(status: int, error: str, hint: str = "") -> JSONResponse:
    return JSONResponse({"error": error, "hint": hint}, status_code=status)


def _is_same(text: str, other: str) -> bool:
    return hmac.compare_digest(text.encode("utf-8", "replace"), other.encode())
