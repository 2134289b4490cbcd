import pytest

from atlas.auth.auth_manager import MAX_ATTEMPTS, AuthManager, authenticate_user
from atlas.errors.exceptions import AuthenticationError
from atlas.users.user_manager import UserManager


@pytest.fixture
def manager():
    users = UserManager()
    users.create_user("ada", "ada@example.org", "engine")
    return AuthManager(users)


def test_authenticate_user_starts_a_session(manager):
    assert authenticate_user(manager, "ada", "engine").user_name == "ada"


def test_authenticate_user_refuses_a_wrong_password(manager):
    with pytest.raises(AuthenticationError):
        authenticate_user(manager, "ada", "difference")


def test_authenticate_user_locks_an_account(manager):
    for _ in range(MAX_ATTEMPTS):
        with pytest.raises(AuthenticationError):
            authenticate_user(manager, "ada", "difference")
    with pytest.raises(AuthenticationError):
        authenticate_user(manager, "ada", "engine")
