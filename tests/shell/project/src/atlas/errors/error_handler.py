"""Error handling at the border: exceptions become answers, never stack traces."""

import logging

from atlas.errors.exceptions import AtlasError, AuthenticationError

logger = logging.getLogger(__name__)


def handle_error(request, error):
    """The answer to an exception that nobody caught."""
    if isinstance(error, AuthenticationError):
        return request.answer(401, {"error": str(error)})
    if isinstance(error, AtlasError):
        return request.answer(400, {"error": str(error), "hint": error.hint})
    logger.exception("unexpected error in %s", request.path)
    return request.answer(500, {"error": "internal error"})


def report_errors(view):
    """Wrap a view so that handle_error sees what it raises."""

    def wrapped(request):
        try:
            return view(request)
        except Exception as error:
            return handle_error(request, error)

    return wrapped
