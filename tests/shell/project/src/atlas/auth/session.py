"""Sessions of people who are logged in."""

import secrets
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

LIFETIME = timedelta(hours=12)


@dataclass(frozen=True)
class Session:
    token: str
    user_name: str
    expires_at: datetime

    def is_expired(self, now):
        return now >= self.expires_at


def start_session(user):
    return Session(secrets.token_urlsafe(32), user.name, datetime.now(UTC) + LIFETIME)


def refresh_token(session, now):
    """A new token for a session that still holds."""
    if session.is_expired(now):
        raise PermissionError("the session is over: log in again")
    return Session(secrets.token_urlsafe(32), session.user_name, now + LIFETIME)
