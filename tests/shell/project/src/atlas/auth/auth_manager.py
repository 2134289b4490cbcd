"""Password authentication."""

from atlas.auth.passwords import verify_password
from atlas.auth.session import start_session
from atlas.errors.exceptions import AuthenticationError

MAX_ATTEMPTS = 5


class AuthManager:
    """Counts failed attempts and locks an account after too many."""

    def __init__(self, users):
        self.users = users
        self.failed: dict[str, int] = {}

    def is_locked(self, name):
        return self.failed.get(name, 0) >= MAX_ATTEMPTS

    def note_failure(self, name):
        self.failed[name] = self.failed.get(name, 0) + 1


def authenticate_user(manager, name, password):
    """First step of the authentication flow: check the password and start a session.

    Raises AuthenticationError for a wrong password and for a locked account alike, so that nobody
    learns which accounts exist.
    """
    user = manager.users.find(name)
    if user is None or manager.is_locked(name) or not verify_password(password, user.digest):
        manager.note_failure(name)
        raise AuthenticationError(name)
    return start_session(user)
