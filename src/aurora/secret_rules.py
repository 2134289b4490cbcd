"""What secrets look like: the forms that issuers document, and the places that hold only secrets.

A form must be unmistakable: what is taken for a secret cannot be found any more.
"""

from __future__ import annotations

import re
from typing import NamedTuple


class Rule(NamedTuple):
    """A kind of secret. Only lines with one of the `hints`, in lower case, are looked at."""

    name: str
    hints: tuple[str, ...]
    pattern: re.Pattern[str]  # the secret is the first of its groups that has something, or all
    is_random: bool = False  # and it must look like chance, not like words


def _key(name: str, hints: str, form: str, *, is_random: bool = False) -> Rule:
    """A key that is known by how it begins, and is not a part of a longer word."""
    return _place(name, hints, rf"(?<![\w-])(?:{form})(?![\w-])", is_random=is_random)


def _place(name: str, hints: str, pattern: str, *, is_random: bool = False) -> Rule:
    return Rule(name, tuple(hints.split(" ")), re.compile(pattern), is_random)


RULES = (
    _key("AWS key id", "akia asia abia acca", r"A(?:KIA|SIA|BIA|CCA)[A-Z2-7]{16}"),
    _key("GitHub token", "ghp_ gho_ ghu_ ghs_ ghr_", r"gh[pousr]_[A-Za-z0-9]{36,251}"),
    _key("GitHub token", "github_pat_", r"github_pat_\w{36,251}"),
    _key("GitLab token", "glpat- glptt- gldt- glrt-", r"gl(?:pat|ptt|dt|rt)-[\w-]{20,100}"),
    _key("Slack token", "xox", r"xox[abeoprs]-[A-Za-z0-9-]{10,250}"),
    _key("Stripe key", "_live_ _test_", r"[srp]k_(?:live|test)_[A-Za-z0-9]{16,250}"),
    _key("Anthropic key", "sk-ant-", r"sk-ant-[\w-]{32,200}"),
    _key("OpenAI key", "sk-", r"sk-(?:proj-|svcacct-|admin-)?[\w-]{32,200}", is_random=True),
    _key("Google key", "aiza", r"AIza[\w-]{35}"),
    _key("Google OAuth secret", "gocspx-", r"GOCSPX-[\w-]{28}"),
    _key("npm token", "npm_", r"npm_[A-Za-z0-9]{36}"),
    _key("PyPI token", "pypi-age", r"pypi-AgE[\w-]{50,250}"),
    _key("Hugging Face token", "hf_", r"hf_[A-Za-z]{34}"),
    _key("SendGrid key", "sg.", r"SG\.[\w-]{22}\.[\w-]{43}"),
    _key("DigitalOcean token", "_v1_", r"do[opr]_v1_[a-f0-9]{64}"),
    _key("Shopify token", "shp", r"shp(?:at|ca|pa|ss)_[a-fA-F0-9]{32}"),
    _key("Twilio key", "sk", r"SK[0-9a-f]{32}"),
    _key("Telegram token", ":aa", r"[0-9]{8,10}:AA[\w-]{33}"),
    _key("age key", "age-secret-key-", r"AGE-SECRET-KEY-1[0-9A-Z]{58}"),
    _key("JSON web token", "eyj", r"eyJ[\w-]{10,}\.eyJ[\w-]{10,}\.[\w-]{16,}"),
    _place("Slack webhook", "hooks.slack.com",
           r"hooks\.slack\.com/(?:services|workflows)/([A-Za-z0-9+/]{40,60})"),
    _place("Azure key", "accountkey= sharedaccesskey=",
           r"(?:AccountKey|SharedAccessKey)=([A-Za-z0-9+/]{43,88}={0,2})"),
    _place("password in an address", "://",
           r"[a-zA-Z][\w+.-]{1,30}://[^\s/:@'\"<>{}$%]{0,100}:([^\s/@'\"<>{}$%]{3,200})@"),
    _place("authorization header", "authorization",
           r"(?i:authorization)[\"']?\s{0,4}[:=]\s{0,4}[\"']?(?i:bearer|basic|token)\s{1,4}"
           r"([\w.~+/=-]{16,1000})", is_random=True),
    # What is given to a name that only secrets have: quoted, or up to the end of a settings line.
    _place("secret", "passw passphrase secret token key credential",
           r"(?i:passw(?:or)?d|passphrase|secret|token|(?:api|access|private)[_-]?key|credentials?)"
           r"[\w-]{0,20}[\"'\]]{0,2}\s{0,4}(?::=|=>|[:=])\s{0,4}"
           r"(?:[bru]?\"([^\"\s\\]{12,500})\"|[bru]?'([^'\s\\]{12,500})'"
           r"|([\w+/.~=-]{16,500})(?=\s*$))", is_random=True),
)  # fmt: skip
