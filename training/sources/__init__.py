"""Where texts come from: packages of PyPI, npm and Debian with permissive licences."""
