"""Roles, and what they may do."""

ROLES = {
    "reader": {"search"},
    "editor": {"search", "index"},
    "admin": {"search", "index", "manage"},
}


def may(role, action):
    return action in ROLES.get(role, set())


def require(role, action):
    """Stop a request that the role does not allow."""
    if not may(role, action):
        raise PermissionError(f"a {role} may not {action}")
