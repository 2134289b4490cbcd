"""What a person sees about themselves."""


def get_user_data(manager, name):
    """Name, address and preferences of a user, without anything secret."""
    user = manager.find(name)
    if user is None:
        return None
    return {"name": user.name, "email": user.email, "active": user.active}


def set_user_data(manager, name, values):
    """Change what a user may change."""
    allowed = {"email", "language", "time_zone"}
    return manager.update(name, {key: values[key] for key in allowed & values.keys()})


def get_avatar(name, size=64):
    """Address of the picture beside a comment."""
    return f"/avatars/{name}?s={size}"
