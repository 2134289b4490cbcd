"""Accounts: who there is, and what becomes of them."""

from dataclasses import dataclass, replace

from atlas.auth.passwords import hash_password


@dataclass(frozen=True)
class User:
    name: str
    email: str
    digest: bytes
    active: bool = True


class UserManager:
    """User management: accounts are created, renamed and deactivated here, never deleted."""

    def __init__(self):
        self._users: dict[str, User] = {}

    def create_user(self, name, email, password):
        if name in self._users:
            raise ValueError(f"there is an account named {name!r}")
        self._users[name] = User(name, email, hash_password(password))
        return self._users[name]

    def find(self, name):
        return self._users.get(name)

    def deactivate_user(self, name):
        self._users[name] = replace(self._users[name], active=False)


def import_users(manager, rows):
    """Accounts from a spreadsheet; those that exist are left alone."""
    return [manager.create_user(*row) for row in rows if manager.find(row[0]) is None]
