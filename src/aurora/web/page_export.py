"""`aur ui --export`: a search or a session as one HTML file, with the page and its data inside.

A colleague opens it without Aurora. It asks nobody anything: its policy allows only the script and
the style inside, by their hashes. Secrets are redacted, whatever the settings say, and folders of
this machine are left out.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Mapping
from html import escape
from urllib.parse import quote

from aurora.redaction import Redactor
from aurora.types import Json
from aurora.web import search_views, trail_views
from aurora.web.api import start
from aurora.web.door import Door

_LOCAL = frozenset(("root", "editor_link", "resume", "project"))


def export_search(door: Door, built: Mapping[str, bytes], query: str) -> str:
    """A search with its results and their texts."""
    answer = search_views.search(door, q=query)
    answers = [_answer("/api/search", answer, q=query)]
    results = answer["results"]
    for result in results if isinstance(results, list) else ():
        if isinstance(result, dict):
            given = {"id": str(result["id"]), "memory": str(result["memory"])}
            chunk = search_views.chunk(door, id_=given["id"], memory=given["memory"], use=False)
            answers.append(_answer("/api/chunk", chunk, **given))
    return _render(door, built, f"/?q={quote(query)}", query, answers)


def export_session(door: Door, built: Mapping[str, bytes], prefix: str) -> str:
    """A session with all its exchanges."""
    session = trail_views.session(door, id_=prefix)
    place = quote(str(session["id"]), safe="!'()*~")  # as encodeURIComponent
    answer = _answer(f"/api/sessions/{place}", session | {"path": None})
    title = str(session["title"] or session["id"])
    return _render(door, built, f"/sessions/{place}", title, [answer])


def _answer(path: str, answer: dict[str, Json], **params: str) -> dict[str, Json]:
    return {"path": path, "params": {**params}, "answer": answer}


def _render(
    door: Door,
    built: Mapping[str, bytes],
    location: str,
    title: str,
    answers: list[dict[str, Json]],
) -> str:
    about = start(door) | {"read_only": True, "memories": []}
    redactor = Redactor()
    held: dict[str, Json] = {
        "location": location,
        "title": redactor.text(title),
        "at": door.now.isoformat(),
        "answers": [_answer("/api/start", about), *answers],
    }
    data = redactor.json(_without_local(held))
    embedded = json.dumps(data, ensure_ascii=False).replace("<", "\\u003c")
    # A text in the script that ends the element, or starts a comment, would end it there.
    script = built["page.js"].decode().replace("</script", "<\\/script").replace("<!--", "<\\!--")
    style = built["page.css"].decode().replace("</style", "<\\/style")
    policy = (
        f"default-src 'none'; script-src {_hash(script)}; style-src {_hash(style)}; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )
    return "\n".join(
        (
            '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{policy}">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            '<meta name="color-scheme" content="light dark">',
            '<meta name="referrer" content="no-referrer">',
            f'<title>{escape(redactor.text(title))}</title>\n<link rel="icon" href="data:,">',
            f"<style>{style}</style>\n</head>",
            '<body>\n<div id="page"></div>\n<noscript>This page needs JavaScript.</noscript>',
            f'<script type="application/json" id="aurora-data">{embedded}</script>',
            f'<script type="module">{script}</script>\n</body>\n</html>\n',
        )
    )


def _without_local(value: Json) -> Json:
    """The value without what only makes sense on this machine."""
    if isinstance(value, list):
        return [_without_local(item) for item in value]
    if not isinstance(value, dict):
        return value
    kept = {name: None if name in _LOCAL else _without_local(each) for name, each in value.items()}
    if isinstance(kept.get("index"), dict):
        kept["index"] = {"memory": "", "root": None, "indexed_at": None, "age_seconds": None}
    return kept


def _hash(text: str) -> str:
    digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
    return f"'sha256-{digest}'"
