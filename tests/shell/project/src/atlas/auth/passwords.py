"""Digests of passwords."""

import hashlib
import hmac
import os

ROUNDS = 600_000


def hash_password(password):
    salt = os.urandom(16)
    digest = hashlib.pbkdf2_hmac("sha256", password.encode(), salt, ROUNDS)
    return salt + digest


def verify_password(password, stored):
    """Compare in constant time."""
    salt, digest = stored[:16], stored[16:]
    return hmac.compare_digest(
        hashlib.pbkdf2_hmac("sha256", password.encode(), salt, ROUNDS), digest
    )
