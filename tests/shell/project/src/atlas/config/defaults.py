"""Every setting and its default."""

DEFAULTS = {
    "search.limit": 10,
    "search.k1": 1.5,
    "search.b": 0.75,
    "index.exclude": ["build", "dist"],
    "auth.session_hours": 12,
    "http.timeout": 30.0,
}
