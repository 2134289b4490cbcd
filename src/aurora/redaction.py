"""Finds secrets in texts by their form, and replaces each by its kind before a text is stored or
logged. Lines keep their number.

First the rules: forms that issuers document (`_FORMS`), and places that hold only secrets
(`PLACES`). Then the test of a value: it looks random, and is not a word, name or placeholder. Last
the `Redactor`.

A rule must be precise, because a redacted text cannot be found any more. Every pattern runs in
linear time: repetitions are bounded and never nested. Patterns are compiled on first use: compiling
all of them takes longer than a search.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial

from aurora.lazy_patterns import lazy_pattern
from aurora.quick_classes import NamedTuple
from aurora.text import compiled, pluralize
from aurora.types import Json


class SecretRule(NamedTuple):
    """A kind of secret, and its pattern: the secret is the group that matches.

    Only lines with one of the lower-case `hints` are searched.
    """

    name: str
    pattern: str
    hints: tuple[str, ...] = ()
    is_random: bool = False  # the value must look random


# Rules: the forms of keys


# A key begins a word, or follows an escape in a string, or `%3D` in an address.
_BEFORE, _AFTER = r"(?:(?<![\w-])|(?<=\\[nrt])|(?<=%[0-9A-F]{2}))", r"(?![\w-])"
_UUID = r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"

# A fast filter for lines: every form has 20 or more of these characters in a row, and a digit or
# capital among them.
_MAYBE_KEY = r"[A-Z0-9][A-Za-z0-9_-]{7}(?<=[A-Za-z0-9_-]{18})"
_FORMS = (
    # Clouds
    ("AWS key id", r"A(?:KIA|SIA|BIA|CCA|3T[A-Z0-9])[A-Z2-7]{16}"),
    ("Amazon Bedrock key", r"ABSK[A-Za-z0-9+/]{100,280}={0,2}"),
    ("Google key", r"AIza[\w-]{35}"),
    ("Google OAuth secret", r"GOCSPX-[\w-]{28}"),
    ("Google OAuth token", r"ya29\.[\w-]{30,500}|1//0[\w-]{40,200}"),
    ("Firebase key", r"AAAA[\w-]{7}:APA91b[\w-]{80,200}"),
    ("Alibaba key id", r"LTAI[A-Za-z0-9]{16,24}"),
    ("Tencent key id", r"AKID[A-Za-z0-9]{32}"),
    ("Yandex key", r"AQVN[\w-]{35,38}|t1\.[\w-]{8,200}={0,2}\.[\w-]{86}"),
    ("DigitalOcean token", r"do[opr]_v1_[a-f0-9]{64}"),
    ("Cloudflare key", r"v1\.0-[a-f0-9]{24}-[a-f0-9]{146}"),
    ("Heroku key", r"HRKU-[\w-]{36,64}"),
    ("Fly.io token", r"fo1_[\w-]{43}|fm[12][ar]?_[A-Za-z0-9+/]{100,1000}={0,3}"),
    ("Render key", r"rnd_[A-Za-z0-9]{28,40}"),
    ("Netlify token", r"nfp_[A-Za-z0-9]{36,40}"),
    ("Supabase key", r"sbp_[a-f0-9]{40}|sb_secret_[\w-]{22,48}"),
    ("PlanetScale token", r"pscale_(?:tkn|pw|oauth)_[\w.=-]{32,64}"),
    ("Neon key", r"napi_[a-z0-9]{48,80}"),
    ("Tailscale key", r"tskey-[a-z]{3,8}-[\w-]{16,64}"),
    ("OpenShift token", r"sha256~[\w-]{43}"),
    ("Databricks token", r"dapi[a-f0-9]{32}(?:-[0-9])?"),
    # Code, packages and delivery
    ("GitHub token", r"gh[pousr]_[A-Za-z0-9]{36,251}|github_pat_\w{36,251}"),
    ("GitLab token", r"gl(?:pat|ptt|dt|rt|rtr|cbt|ffct|ft|imt|agent|oas|soat)-[\w-]{20,300}"
                     r"(?:\.[0-9a-z]{2}\.?[0-9a-z]{7,9})?|GR1348941[\w-]{20}"),
    ("Atlassian token", r"AT(?:ATT|CTT)3[\w=-]{20,250}|ATBB[A-Za-z0-9]{32}"),
    ("npm token", r"npm_[A-Za-z0-9]{36}"),
    ("PyPI token", r"pypi-AgE[\w-]{50,1000}"),
    ("RubyGems key", r"rubygems_[a-f0-9]{48}"),
    ("NuGet key", r"oy2[a-z0-9]{43}"),
    ("Clojars token", r"CLOJARS_[a-z0-9]{60}"),
    ("Artifactory token", r"AKCp[A-Za-z0-9]{69}|cmVmd[A-Za-z0-9]{59}"),
    ("Docker token", r"dckr_[op]at_[\w-]{24,64}"),
    ("Terraform token", r"[A-Za-z0-9]{14}\.atlasv1\.[\w-]{60,70}"),
    ("Pulumi token", r"pul-[a-f0-9]{40}"),
    ("Infracost key", r"ico-[A-Za-z0-9]{32}"),
    ("Vault token", r"hv[sbr]\.[\w-]{24,300}"),
    ("Doppler token", r"dp\.[a-z]{2,5}\.(?:[\w-]{2,35}\.)?[A-Za-z0-9]{40,44}"),
    ("1Password key", r"A3-[A-Z0-9]{6}-[A-Z0-9]{6}-?[A-Z0-9]{5}-[A-Z0-9]{5}-[A-Z0-9]{5}-[A-Z0-9]{5}"
                      r"|ops_eyJ[\w+/=-]{100,2000}"),
    ("age key", r"AGE-SECRET-KEY-1[0-9A-Z]{58}"),
    ("CircleCI token", r"CCI(?:PAT|PRJ)_[A-Za-z0-9]{22}_[a-f0-9]{40}"),
    ("Buildkite token", r"bk(?:ua|ct)_[a-f0-9]{40}"),
    ("SonarQube token", r"sq[upa]_[a-zA-Z0-9]{40}"),
    ("Sourcegraph token", r"sgp_(?:[a-fA-F0-9]{16}_|local_)?[a-fA-F0-9]{40}"),
    ("Harness key", r"[ps]at\.[\w-]{22}\.[A-Za-z0-9]{24}\.[A-Za-z0-9]{20}"),
    ("Prefect key", r"pn[ub]_[A-Za-z0-9]{36}"),
    ("Postman key", r"PMAK-[a-f0-9]{24}-[a-f0-9]{34}"),
    ("LaunchDarkly key", rf"(?:api|sdk|mob)-{_UUID}"),
    # Models
    ("Anthropic key", r"sk-ant-[\w-]{32,200}"),
    ("ElevenLabs key", r"sk_[a-f0-9]{48}"),
    ("Hugging Face token", r"(?:hf|api_org)_[A-Za-z0-9]{34,40}"),
    ("Groq key", r"gsk_[A-Za-z0-9]{40,64}"),
    ("xAI key", r"xai-[A-Za-z0-9]{40,120}"),
    ("Perplexity key", r"pplx-[A-Za-z0-9]{40,64}"),
    ("Replicate token", r"r8_[A-Za-z0-9]{37,40}"),
    ("Cerebras key", r"csk-[a-z0-9]{40,64}"),
    ("NVIDIA key", r"nvapi-[\w-]{50,80}"),
    ("Tavily key", r"tvly-(?:dev-|prod-)?[A-Za-z0-9]{20,64}"),
    ("LangSmith key", r"lsv2_(?:pt|sk)_[a-f0-9]{32}_[a-f0-9]{10}"),
    ("Pinecone key", r"pcsk_[A-Za-z0-9_]{50,90}"),
    ("Together key", r"tgp_v1_[\w-]{40,64}"),
    ("Jina key", r"jina_[a-f0-9]{32}[\w-]{20,40}"),
    # Messages
    ("Slack token", r"xox[abeoprs]-[A-Za-z0-9-]{15,250}|xoxe\.xox[bp]-[0-9]-[A-Za-z0-9]{40,250}"
                    r"|xapp-[0-9]-[A-Z0-9]{6,20}-[0-9]{8,20}-[a-z0-9]{32,128}"),
    ("Discord token", r"[MNO][A-Za-z0-9_-]{23,27}\.[\w-]{6}\.[\w-]{27,40}"),
    ("Telegram token", r"[0-9]{8,10}:AA[\w-]{33}"),
    ("Twitch token", r"oauth:[a-z0-9]{30}"),
    ("Twilio key", r"SK[0-9a-f]{32}"),
    ("SendGrid key", r"SG\.[\w-]{22}\.[\w-]{43}"),
    ("Mailgun key", r"key-[a-f0-9]{32}"),
    ("Mailchimp key", r"[a-f0-9]{32}-us[0-9]{1,2}"),
    ("Brevo key", r"xkeysib-[a-f0-9]{64}-[A-Za-z0-9]{16}"),
    ("Facebook token", r"EAA[A-Za-z0-9]{90,400}"),
    # Payments and shops
    ("Stripe key", r"[srp]k_(?:live|test|prod)_[A-Za-z0-9]{16,250}"
                   r"|whsec_[A-Za-z0-9+/]{24,80}={0,2}"),
    ("Square token", r"sq0(?:atp|csp)-[\w-]{22,60}"),
    ("Braintree token", r"access_token\$production\$[a-z0-9]{16}\$[a-f0-9]{32}"),
    ("Plaid token", rf"access-(?:sandbox|development|production)-{_UUID}"),
    ("Razorpay key", r"rzp_(?:live|test)_[A-Za-z0-9]{14}"),
    ("Flutterwave key", r"FLWSECK(?:_TEST)?-[a-zA-Z0-9]{12,40}(?:-X)?"),
    ("EasyPost key", r"EZ[AT]K[A-Za-z0-9]{54}"),
    ("Shippo token", r"shippo_(?:live|test)_[a-fA-F0-9]{40}"),
    ("Duffel token", r"duffel_(?:live|test)_[\w-]{43}"),
    ("Lob key", r"(?:live|test)_[a-f0-9]{35}"),
    ("Shopify token", r"shp(?:at|ca|pa|ss|tka)_[a-fA-F0-9]{32}"),
    # Work and watching
    ("Notion token", r"ntn_[A-Za-z0-9]{40,50}|secret_[A-Za-z0-9]{43}"),
    ("Linear key", r"lin_(?:api|oauth)_[A-Za-z0-9]{40,64}"),
    ("Airtable token", r"pat[A-Za-z0-9]{14}\.[a-f0-9]{64}"),
    ("Asana token", r"[12]/[0-9]{16}(?:/[0-9]{16})?:[a-f0-9]{32}"),
    ("Figma token", r"fig[dour]_[\w-]{40,64}"),
    ("Contentful token", r"CFPAT-[\w-]{43}"),
    ("HubSpot token", rf"pat-(?:na|eu|ap)[0-9]-{_UUID}"),
    ("Typeform token", r"tfp_[\w.-]{44,64}"),
    ("ReadMe key", r"rdme_[a-z0-9]{70}"),
    ("Dropbox token", r"sl\.(?:u\.)?[\w-]{60,1400}"),
    ("Mapbox token", r"[st]k\.eyJ[\w-]{20,200}\.[\w-]{20,40}"),
    ("MaxMind key", r"[A-Za-z0-9]{6}_[A-Za-z0-9]{29}_mmk"),
    ("Adobe secret", r"p8e-[A-Za-z0-9_-]{32}"),
    ("Grafana token", r"glsa_[A-Za-z0-9]{32}_[a-fA-F0-9]{8}|glc_[A-Za-z0-9+/]{32,400}={0,3}"
                      r"|eyJrIjoi[A-Za-z0-9]{60,400}={0,2}"),
    ("New Relic key", r"NRAK-[A-Z0-9]{27}|NR(?:II|IQ|RA)-[\w-]{32}|NRJS-[a-f0-9]{19}"),
    ("Sentry token", r"sntry[su]_[\w+/=-]{40,400}"),
    ("Dynatrace token", r"dt0[a-z][0-9]{2}\.[A-Z0-9]{24}\.[A-Z0-9]{64}"),
    ("JSON web token", r"eyJ[\w-]{17,4000}\.(?:eyJ[\w-]{10,8000}\.[\w-]{16,2000}"
                       r"|[\w-]{0,2000}\.[\w-]{10,100}\.[\w-]{10,8000}\.[\w-]{16,100})"),
)  # fmt: skip
# These begin like other words: the rest must look random.
_RANDOM_FORMS = (
    ("OpenAI key", r"sk-(?:proj-|svcacct-|admin-)?[\w-]{32,200}"),
    ("Fireworks key", r"fw_[A-Za-z0-9]{22,40}"),
    ("Resend key", r"re_[A-Za-z0-9]{8}_[A-Za-z0-9]{20,28}"),
    ("crates.io token", r"cio[A-Za-z0-9]{32}"),
    ("Vault token", r"[sb]\.[A-Za-z0-9]{24}"),
    ("Octopus key", r"API-[A-Z0-9]{25,32}"),
    ("Square token", r"EAAA[\w-]{60}"),
)
KEY_RULES = (
    *(SecretRule(*form) for form in _FORMS),
    *(SecretRule(*form, is_random=True) for form in _RANDOM_FORMS),
)
_ALL_FORMS = [rule.pattern for rule in KEY_RULES]
_ANY_KEY = f"{_BEFORE}(?:{'|'.join(_ALL_FORMS)}){_AFTER}"  # eight times as fast as `_KEY`
# The number of the matching group is the index in `KEY_RULES`, plus 1.
_KEY = f"{_BEFORE}(?:({')|('.join(_ALL_FORMS)})){_AFTER}"


# Rules: the places of secrets


def _place(name: str, hints: str, pattern: str, *, is_random: bool = False) -> SecretRule:
    return SecretRule(name, pattern, tuple(hints.split("|")), is_random)


def _behind(words: str, end: str) -> str:
    """A look-behind for one of the words before `end`, one group for each length."""
    by_length: dict[int, list[str]] = {}
    for word in words.split():
        by_length.setdefault(len(word), []).append(word)
    return "|".join(f"(?<=(?:{'|'.join(same)}){end})" for same in by_length.values())


# A name that only secrets have. `pass` and `pwd` must be whole words: not `bypass`, `passed`. The
# pattern begins with a character class and looks back at it, which is ten times as fast.
_OWNERS = (
    "api app access account admin auth client consumer cookie deploy encryption hmac host jwt"
    " license licence master private root server service shared signing ssh storage subscription"
    " webhook"
)
_KEY_NAME = rf"(?<=k)ey(?:{_behind(_OWNERS, 'key')}|{_behind(_OWNERS, '[_-]key')})"
_USERS = "db ftp mail my root smtp sql ssh user"
_NAME = (
    r"[PpSsTtCcKk](?:(?i:(?<=p)ass(?:w(?:or)?d|wort|phrase)|(?<=s)ecret|(?<=t)oken"
    rf"|(?<=c)red(?:ential|s))|(?i:{_KEY_NAME})(?![a-rt-z])|EY(?<=[A-Z0-9]_KEY)"
    r"|(?i:(?<=p)ass(?![a-z]))"
    rf"(?:(?<![A-Za-z]....)|(?<=[a-z]P...)|(?i:{_behind(_USERS, 'pass')}))"
    r"|(?i:(?<=p)(?:wd|sk)(?![a-z]))"
    rf"(?:(?<![A-Za-z]...)|(?<=[a-z]P..)|(?i:{_behind(_USERS, 'pwd')})))"
    r"[\w-]{0,40}+(?i:(?<!name)(?<!_id))(?<![a-z]Id)"
)
_NAMES = "pass|pwd|secret|token|key|cred|psk"
_NAME_ENDS = _NAME + "$"  # the end of a setting's name
_QUOTED = r"(?:[bruf@]?\\?(?:\"([^\"\s\\]{6,500})\\?\"|'([^'\s\\]{6,500})\\?'|`([^`\s\\]{6,500})`))"
_BARE = r"([^\s\"'`<>(){};,\\]{6,500}+)(?!\()"
_TYPE = r"(?:\s?:?\s?[&A-Za-z][\w.&<>\[\]|?']{1,24}+(?=\s{0,4}=))?"  # as in `token: str = "…"`
_VALUE = r"[\"']?[\s,;]{1,4}[\"']?(?i:value)[\"']?\s{0,4}[:=]\s{0,4}[\"']?([^\s\"'<>]{6,500})"
_LIBPQ = r"(?:host|hostaddr|port|user|dbname|sslmode)\s?=\s?"
_GIVEN = r"\s?(?:'([^']{1,200})'|([^\s\"',()]{3,200}))"

PLACES = (
    _place("Slack webhook", "hook",
           r"hooks\.slack\.com/(?:services|workflows|triggers)/([A-Za-z0-9+/]{40,60})"),
    _place("Discord webhook", "hook", r"/api/webhooks/[0-9]{15,22}/([\w-]{50,90})"),
    _place("Teams webhook", "hook",
           r"webhook\.office\.com/webhookb2/([\w@/-]{60,250})"),
    _place("Zapier webhook", "hook",
           r"hooks\.zapier\.com/hooks/catch/([0-9]{4,12}/\w{5,20})"),
    _place("Azure key", "key=",
           r"(?:AccountKey|SharedAccessKey)=([A-Za-z0-9+/]{43,88}={0,2})"),
    _place("Azure client secret", "q~",
           r"(?<![\w~.-])([\w~.]{3}[0-9]Q~[\w~.-]{31,34})(?![\w~.-])"),
    _place("password in an address", "://",
           r"[a-zA-Z][\w+.-]{1,30}://[^\s/:@'\"<>{}\[]{0,100}:"
           r"([^\s/@'\"<>{}\[][^\s/'\"<>{}]{2,200})@"),
    _place("password in an address", "://", r"://([\w-]{20,200})@", is_random=True),
    _place("secret in an address", "?|&",
           r"[?&](?i:[\w-]{0,20}(?:token|key|secret|password|signature)|sig|code|pwd)="
           r"([\w%.~+/=-]{16,1000})", is_random=True),
    _place("authorization header", "authorization",
           r"(?i:authorization)\\?[\"']?\s{0,4}[:=]\s{0,4}\\?[\"'`]?(?:[A-Za-z-]{3,20}\s{1,4})?"
           r"(?:(?i:token)=\"?)?([\w.~+/=:-]{12,2000})", is_random=True),
    _place("authorization header", "bearer ", r"(?i:bearer)\s{1,4}([\w.~+/=-]{20,2000})",
           is_random=True),
    _place("registry login", "\"auth\"|_auth",
           r"(?:\"auth\"\s{0,4}:\s{0,4}\"|\b_auth\s{0,4}=\s{0,4}\"?)([A-Za-z0-9+/]{11,500}={0,2})",
           is_random=True),
    _place("password hash", ":$",
           r"^[\w.@-]{1,64}:(\$(?:apr1|[1256y]|2[aby])\$[\w./$=,-]{20,200})"),
    _place("connection password", ";",
           r";\s{0,4}(?i:password|pwd)\s{0,4}=\s{0,4}([^;\"'\s<>{}]{3,200})"
           r"|(?i:password|pwd)\s{0,4}=\s{0,4}([^;\"'\s<>{}]{3,200});\s{0,4}[A-Za-z][\w ]{1,30}="),
    _place("connection password", "password=",
           rf"{_LIBPQ}[^\s=,()]{{1,100}}\s{{1,4}}password={_GIVEN}"
           rf"|(?<!\w)password={_GIVEN}\s{{1,4}}{_LIBPQ}"),
    _place("netrc password", "login ",
           r"(?:^|\s)(?:machine\s{1,8}\S{1,200}|default)\s{1,8}login\s{1,8}\S{1,100}"
           r"\s{1,8}password\s{1,8}(\S{3,200})"),
    _place("command password", "sshpass|curl",
           r"sshpass\s{1,4}-p\s{0,4}['\"]?([^\s'\"$]{3,200})"
           r"|(?:curl(?=\s).{0,200}?\s-u|--user)[ =]{1,4}['\"]?[\w.@+-]{1,100}['\"]?:['\"]?"
           r"([^\s'\"$]{3,200})"),
    _place("command password", "mysql", r"mysql\w{0,8}(?=\s).{0,200}?\s-p['\"]?([^\s'\"$]{6,200})",
           is_random=True),
    # Values of names that only secrets have: in code, in settings, and in XML.
    _place("secret", _NAMES,
           rf"{_NAME}(?:\\?[\"'\]]{{0,2}}{_TYPE}\s{{0,20}}+(?::{{1,3}}=|\?=|=>|==|[:=])\s{{0,20}}+"
           rf"(?:{_QUOTED}|{_BARE})|[\"'],\s?{_QUOTED}|>([^\s<>]{{6,500}})</|{_VALUE})",
           is_random=True),
    _place("secret", "--", rf"--(?<![\w-]--)[\w-]{{0,30}}{_NAME}\s{{1,4}}[\"']?{_BARE}",
           is_random=True),
    _place("secret", "env |env\t|arg |arg\t|setx|password",
           rf"^\s{{0,20}}(?:(?:ENV|ARG|setx|setenv)\s{{1,4}}\w{{0,40}}{_NAME}|password)"
           r"\s{1,8}[\"']?([^\s'\"]{6,200})[\"']?\s*$", is_random=True),
    _place("secret", "identified by |password '",
           r"(?i:identified\s{1,4}by|password)\s{1,4}'([^'\s]{6,200})'", is_random=True),
)  # fmt: skip
_HINTS = tuple(dict.fromkeys(hint for place in PLACES for hint in place.hints))


# Values
MARK = "[redacted:"
_MIN_ENTROPY = 2.75  # bits per character: English words have fewer
_SHORT = 12  # characters: entropy of a shorter value means little
_LETTERS = lazy_pattern(r"[A-Za-z]{16,}={0,2}")  # values this long need no digit
_MIN_DIFFERENT = 6  # characters, in a short value
_PLACEHOLDER = lazy_pattern(
    "password|passwd|pass|pwd|secret|token|credential|default|example|sample|changeme|change|dummy"
    "|value|admin|login|guest|hello|world|user|test|fake|demo|your|here|name|root|none|null|true"
    "|false|text|data|auth|hmac|sha|aes|rsa|api|key|new|old|the|foo|bar|baz|abc|my|id|x|s(?![a-z])"
)
# References that a program replaces.
_REFERENCE = lazy_pattern(
    r"\$[{(]|\{[{%]|%[(s]|://|^\$(?:[A-Za-z_]+|[A-Z0-9_]+)$|^[A-Z]+(?:_[A-Z]+)+$"
    r"|^[\w.$]+\[[\d:-]+\]$|^[.~]?/[\w.-]+/[\w./-]{0,20}$|^arn:|^ENC\["
)
# The hundred most common letter pairs of English: random letters have few of them.
_WORD = lazy_pattern(r"[A-Z]?[a-z]{2,}|[A-Z]{3,}")
_COMMON = (
    "ab ac ad ai al am an ar as at ba ca ce ch co ct da de di ea ec ed el em en er es et ex fi"
    " fo ge ha he ia ic id ie ig il im in io is it la ld le li ll lo ma me mi mo mp na nc nd ne"
    " ng ni no ns nt od ol om on or os ou pa pe pl po pr ra re ri ro rs rt se si ss st su ta te"
    " th ti to tr ts un ur us ut ve"
)
_PAIRS = frozenset(_COMMON.split(" "))


def looks_random(text: str) -> bool:
    """True for letters and digits with little repetition that are not mostly words."""
    if not any(map(str.isalpha, text)):
        return False
    has_digit = any(map(str.isdigit, text))
    if len(text) < _SHORT:
        return has_digit and len(set(text)) >= _MIN_DIFFERENT
    if not has_digit and not _LETTERS.fullmatch(text):
        return False
    counts = Counter(text).values()
    bits = -sum(count / len(text) * math.log2(count / len(text)) for count in counts)
    return bits >= _MIN_ENTROPY and not _is_worded(text)


def may_be_secret(text: str) -> bool:
    """False for redacted text, and for `$TOKEN`, `your-api-key`, `password1`, `xx`."""
    if MARK in text or _REFERENCE.search(text):
        return False
    rest = _PLACEHOLDER.sub("", text.lower())
    return any(map(str.isalnum if len(rest) == len(text) else str.isalpha, rest))


def _is_worded(text: str) -> bool:
    """True for a text of mostly words, like `test-token-number-1` and paths of modules."""
    words = (word for word in _WORD.findall(text) if _is_readable(word.lower()))
    return sum(map(len, words)) > len(text) / 2


def _is_readable(word: str) -> bool:
    pairs = [word[at : at + 2] in _PAIRS for at in range(len(word) - 1)]
    return sum(pairs) >= len(pairs) / 3


# The redactor

_PEM_BEGIN = lazy_pattern(r"-----BEGIN (?:[A-Z0-9]+ ){0,3}PRIVATE KEY(?: BLOCK)?-----")
_PEM_END = lazy_pattern(r"-----END (?:[A-Z0-9]+ ){0,3}PRIVATE KEY(?: BLOCK)?-----")
_PEM_LINE = lazy_pattern(r"[\s\"'+]*[\w+/=:,. -]{0,120}[\s\"'\\+,]*")  # base64, or a header
_PEM_TEXT = lazy_pattern(r"[A-Za-z0-9+/]{16}")  # not in prose that mentions a key
_MAX_PEM_LINES = 400  # hidden after a beginning without an end
_PRIVATE_KEY, _SECRET = "private key", "secret"


class _Lines:
    """The lines of a text by their start. Only lines that may match are cut out."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._folded = text.replace("\u0130", "i").lower()  # its lower case is two characters
        self._by_hint: dict[str, list[int]] = {}
        self._changed: dict[int, str] = {}

    def __getitem__(self, start: int) -> str:
        changed = self._changed.get(start)
        return self._text[start : self._end(start)] if changed is None else changed

    def __setitem__(self, start: int, line: str) -> None:
        if line != self[start]:
            self._changed[start] = line

    def having(self, pattern: re.Pattern[str]) -> Iterator[int]:
        """Yield the lines that match the pattern."""
        match = pattern.search(self._text)
        while match:
            yield self._start(match.start())
            match = pattern.search(self._text, self._end(match.start()))

    def hints(self) -> set[str]:
        """Return the hints of all rules that are somewhere in the text."""
        return {hint for hint in _HINTS if hint in self._folded}

    def with_hint(self, hints: Iterable[str]) -> set[int]:
        """Return the lines with one of the lower-case hints."""
        return {line for hint in hints for line in self._with(hint)}

    def joined(self) -> str:
        pieces: list[str] = []
        at = 0
        for start in sorted(self._changed):
            pieces += self._text[at:start], self._changed[start]
            at = self._end(start)
        return "".join([*pieces, self._text[at:]])

    def _with(self, hint: str) -> list[int]:
        if hint not in self._by_hint:
            lines, at = [], self._folded.find(hint)
            while at >= 0:
                lines.append(self._start(at))
                at = self._folded.find(hint, self._end(at))
            self._by_hint[hint] = lines
        return self._by_hint[hint]

    def _start(self, at: int) -> int:
        return self._text.rfind("\n", 0, at) + 1

    def _end(self, at: int) -> int:
        end = self._text.find("\n", at)
        return end if end >= 0 else len(self._text)


_MOST_SAFE = 256  # texts that are remembered


class Redactor:
    """Replaces secrets and counts them by kind. Does nothing when off."""

    def __init__(self, *, on: bool = True) -> None:
        self.on = on
        self.kinds: Counter[str] = Counter()
        self._safe: set[str] = set()  # the last results: parts of a record come again and again

    def text(self, text: str) -> str:
        """Replace every secret in a text by its kind."""
        if not self.on or text in self._safe:
            return text
        safe = self._redacted(text)
        if len(self._safe) >= _MOST_SAFE:
            self._safe = set()
        self._safe.add(safe)
        return safe

    def _redacted(self, text: str) -> str:
        if "PRIVATE KEY" in text:
            text = "".join(self._without_private_keys(text.splitlines(keepends=True)))
        lines = _Lines(text)
        for line in lines.having(compiled(_MAYBE_KEY)):
            if compiled(_ANY_KEY).search(lines[line]):
                lines[line] = compiled(_KEY).sub(self._replace_key, lines[line])
        hints = lines.hints()
        for place in PLACES if hints else ():
            if hints.isdisjoint(place.hints):
                continue
            replace = partial(self._replace, place)
            for line in lines.with_hint(place.hints):
                lines[line] = compiled(place.pattern).sub(replace, lines[line])
        return lines.joined()

    def lines(self, lines: Iterable[str]) -> Iterator[str]:
        """Redact a text that is too large for memory, line by line."""
        return map(self.text, self._without_private_keys(lines) if self.on else lines)

    def json(self, value: Json, name: str = "") -> Json:
        """Redact all texts in a value, which may have a name."""
        if isinstance(value, str):
            return self._named_value(name, value)
        if isinstance(value, Mapping):
            return self.mapping(value)
        if isinstance(value, Sequence):
            return [self.json(inner, name) for inner in value]
        return value

    def mapping(self, values: Mapping[str, Json]) -> dict[str, Json]:
        """Redact names and values. A name like `api_key` marks its value as a secret."""
        return {self.text(name): self.json(value, name) for name, value in values.items()}

    @property
    def warning(self) -> str:
        return describe_secrets(self.kinds)

    def _named_value(self, name: str, text: str) -> str:
        safe = self.text(text)
        if not self.on or safe != text or not compiled(_NAME_ENDS).search(name):
            return safe
        if not may_be_secret(text) or not looks_random(text) or any(map(str.isspace, text)):
            return safe
        self.kinds[_SECRET] += 1
        return _mark(_SECRET)

    def _replace_key(self, match: re.Match[str]) -> str:
        return self._replace(KEY_RULES[(match.lastindex or 1) - 1], match)

    def _replace(self, rule: SecretRule, match: re.Match[str]) -> str:
        group = match.lastindex or 0  # only one group matches
        secret = match[group]
        if not may_be_secret(secret) or (rule.is_random and not looks_random(secret)):
            return match[0]
        self.kinds[rule.name] += 1
        start, end = match.start(group) - match.start(), match.end(group) - match.start()
        return match[0][:start] + _mark(rule.name) + match[0][end:]

    def _without_private_keys(self, lines: Iterable[str]) -> Iterator[str]:
        """Replace the lines inside a private key one by one, so that line numbers stay."""
        left, counted = 0, False
        for line in lines:
            body = line.rstrip("\r\n")
            begin, end = _PEM_BEGIN.search(body), _PEM_END.search(body)
            start, stop = begin.end() if begin else 0, len(body)
            if begin:
                stop = end.start() if end and end.start() > start else stop
                left, counted = 0 if end else _MAX_PEM_LINES, False
                hides = _PEM_TEXT.search(body, start, stop) is not None
            else:
                left = left - 1 if left and not end and _PEM_LINE.fullmatch(body) else 0
                hides = left > 0 and bool(body.strip("\"'+,\\ "))
            if hides and not counted:
                self.kinds[_PRIVATE_KEY] += 1
                counted = True
            yield body[:start] + _mark(_PRIVATE_KEY) + line[stop:] if hides else line


def describe_secrets(kinds: Counter[str]) -> str:
    """A sentence on redacted secrets by kind; empty if there are none."""
    if not kinds:
        return ""
    names = ", ".join(sorted(kinds))
    return f"{pluralize(kinds.total(), 'secret')} redacted before storing ({names})"


def _mark(kind: str) -> str:
    return f"{MARK} {kind}]"
