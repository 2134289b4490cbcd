"""The login form and the API's login."""

from atlas.auth.auth_manager import authenticate_user
from atlas.errors.exceptions import AuthenticationError


def login_form(request, manager):
    """Calls authenticate_user with what was typed; authenticate_user says no with an exception."""
    try:
        session = authenticate_user(manager, request.form["name"], request.form["password"])
    except AuthenticationError:
        return request.render("login.html", error="Name or password is wrong.")
    return request.redirect("/", cookie=session.token)


def login_api(request, manager):
    """The same as JSON. authenticate_user raises, authenticate_user's caller answers 401."""
    try:
        session = authenticate_user(manager, request.json["name"], request.json["password"])
    except AuthenticationError:
        return request.answer(401, {"error": "unauthorized"})
    return request.answer(200, {"token": session.token})


def login_basic(request, manager):
    """Basic authentication for scripts: authenticate_user for every request, no cookie."""
    name, _, password = request.basic_credentials().partition(":")
    return authenticate_user(manager, name, password)
