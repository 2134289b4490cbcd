"""Secrets as people write them, none of them real, and honest lines that look alike.

Every secret is put together at run time: this file holds none that a scanner could find. A sample
has a kind, a line with the secret in it, and the part of the line that must vanish.
"""

from __future__ import annotations

import random
import string
from collections.abc import Iterator
from typing import NamedTuple

_ALNUM, _HEX, _BASE36 = (
    string.ascii_letters + string.digits,
    "0123456789abcdef",
    "abcdefghijklmnopqrstuvwxyz0123456789",
)
_BASE32, _UPPER = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567", string.ascii_uppercase + string.digits


class Sample(NamedTuple):
    kind: str
    line: str
    secret: str


def _signs(alphabet: str, count: int) -> str:
    """The same signs in every run, and others for each alphabet and count."""
    chosen = random.Random(f"{alphabet}{count}")  # noqa: S311 - none of them is a secret
    return "".join(chosen.choices(alphabet, k=count))


def _mixed(count: int) -> str:
    return _signs(_ALNUM, count)


def _hex(count: int) -> str:
    return _signs(_HEX, count)


def _small(count: int) -> str:
    return _signs(_BASE36, count)


def _large(count: int) -> str:
    return _signs(_UPPER, count)


def _letters(count: int) -> str:
    return _signs(string.ascii_letters, count)


UUID = f"{_hex(8)}-{_hex(40)[:4]}-{_hex(41)[:4]}-{_hex(42)[:4]}-{_hex(12)}"
JWT = "ey" + "JhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.ey" + f"J{_mixed(40)}.{_mixed(43)}"

# What its issuer's form identifies, whatever stands around it.
KEYS: tuple[tuple[str, str], ...] = (
    ("AWS key id", "AK" + "IA" + _signs(_BASE32, 16)),
    ("AWS key id", "AS" + "IA" + _signs(_BASE32, 16)[::-1]),
    ("Amazon Bedrock key", "AB" + "SK" + _mixed(128) + "="),
    ("Google key", "AI" + "za" + _mixed(35)),
    ("Google OAuth secret", "GOC" + "SPX-" + _mixed(28)),
    ("Google OAuth token", "ya" + "29." + _mixed(120)),
    ("Google OAuth token", "1/" + "/0" + _mixed(60)),
    ("Firebase key", "AAAA" + _mixed(7) + ":APA" + "91b" + _mixed(134)),
    ("Alibaba key id", "LT" + "AI" + _mixed(20)),
    ("Tencent key id", "AK" + "ID" + _mixed(32)),
    ("Yandex key", "AQ" + "VN" + _mixed(36)),
    ("DigitalOcean token", "dop" + "_v1_" + _hex(64)),
    ("DigitalOcean token", "doo" + "_v1_" + _hex(64)),
    ("Cloudflare key", "v1" + ".0-" + _hex(24) + "-" + _hex(146)),
    ("Heroku key", "HR" + "KU-" + UUID),
    ("Heroku key", "HR" + "KU-AA" + _mixed(58)),
    ("Fly.io token", "fo" + "1_" + _mixed(43)),
    ("Fly.io token", "fm" + "2_" + _mixed(160)),
    ("Render key", "rn" + "d_" + _mixed(32)),
    ("Netlify token", "nf" + "p_" + _mixed(36)),
    ("Supabase key", "sb" + "p_" + _hex(40)),
    ("Supabase key", "sb_" + "secret_" + _mixed(31)),
    ("PlanetScale token", "pscale" + "_tkn_" + _mixed(43)),
    ("PlanetScale token", "pscale" + "_pw_" + _mixed(43)),
    ("Neon key", "na" + "pi_" + _small(64)),
    ("Tailscale key", "ts" + "key-auth-" + _mixed(17) + "-" + _mixed(32)),
    ("OpenShift token", "sha" + "256~" + _mixed(43)),
    ("Databricks token", "da" + "pi" + _hex(32)),
    ("Databricks token", "da" + "pi" + _hex(32) + "-2"),
    ("GitHub token", "gh" + "p_" + _mixed(36)),
    ("GitHub token", "gh" + "o_" + _mixed(36)),
    ("GitHub token", "gh" + "s_" + _mixed(36)),
    ("GitHub token", "github" + "_pat_" + _mixed(22) + "_" + _mixed(59)),
    ("GitLab token", "gl" + "pat-" + _mixed(20)),
    ("GitLab token", "gl" + "rt-" + _mixed(20)),
    ("GitLab token", "gl" + "cbt-64_" + _mixed(20)),
    ("GitLab token", "gl" + "agent-" + _mixed(50)),
    ("GitLab token", "gl" + "oas-" + _hex(64)),
    ("GitLab token", "GR" + "1348941" + _mixed(20)),
    ("Atlassian token", "ATA" + "TT3xFfGF0" + _mixed(170) + "=" + _large(8)),
    ("Atlassian token", "AT" + "BB" + _mixed(32)),
    ("npm token", "np" + "m_" + _mixed(36)),
    ("PyPI token", "py" + "pi-AgEIcHlwaS5vcmc" + _mixed(120)),
    ("RubyGems key", "ruby" + "gems_" + _hex(48)),
    ("NuGet key", "oy" + "2" + _small(43)),
    ("Clojars token", "CLO" + "JARS_" + _hex(60)),
    ("Artifactory token", "AK" + "Cp" + _mixed(69)),
    ("Artifactory token", "cmV" + "md" + _mixed(59)),
    ("Docker token", "dckr" + "_pat_" + _mixed(27)),
    ("Docker token", "dckr" + "_oat_" + _mixed(32)),
    ("Terraform token", _mixed(14) + ".atlas" + "v1." + _mixed(67)),
    ("Pulumi token", "pu" + "l-" + _hex(40)),
    ("Infracost key", "ic" + "o-" + _mixed(32)),
    ("Vault token", "hv" + "s." + _mixed(95)),
    ("Vault token", "hv" + "b." + _mixed(140)),
    ("Vault token", "s" + "." + _mixed(24)),
    ("Doppler token", "dp" + ".pt." + _mixed(43)),
    ("Doppler token", "dp" + ".st.prd." + _mixed(43)),
    (
        "1Password key",
        "A3" + f"-{_large(6)}-{_large(11)}-{_large(5)}-{_large(15)[:5]}-{_large(25)[:5]}",
    ),
    ("1Password key", "ops" + "_ey" + "J" + _mixed(300)),
    ("age key", "AGE-" + "SECRET-KEY-1" + _large(58)),
    ("CircleCI token", "CCI" + "PAT_" + _mixed(22) + "_" + _hex(40)),
    ("Buildkite token", "bk" + "ua_" + _hex(40)),
    ("SonarQube token", "sq" + "u_" + _hex(40)),
    ("SonarQube token", "sq" + "p_" + _hex(40)),
    ("Sourcegraph token", "sg" + "p_" + _hex(16) + "_" + _hex(40)),
    ("Harness key", "pa" + "t." + _mixed(22) + "." + _mixed(24) + "." + _mixed(20)),
    ("Prefect key", "pn" + "u_" + _mixed(36)),
    ("Postman key", "PM" + "AK-" + _hex(24) + "-" + _hex(34)),
    ("LaunchDarkly key", "sd" + "k-" + UUID),
    ("Octopus key", "AP" + "I-" + _large(26)),
    ("crates.io token", "ci" + "o" + _mixed(32)),
    ("Anthropic key", "sk-" + "ant-api03-" + _mixed(93) + "AA"),
    ("OpenAI key", "sk-" + "proj-" + _mixed(74) + "T3Blbk" + "FJ" + _mixed(74)),
    ("OpenAI key", "sk-" + _mixed(48)),
    ("OpenAI key", "sk-" + "or-v1-" + _hex(64)),
    ("ElevenLabs key", "sk" + "_" + _hex(48)),
    ("Hugging Face token", "hf" + "_" + _letters(34)),
    ("Groq key", "gs" + "k_" + _mixed(52)),
    ("xAI key", "xa" + "i-" + _mixed(80)),
    ("Perplexity key", "pp" + "lx-" + _mixed(48)),
    ("Replicate token", "r" + "8_" + _mixed(37)),
    ("Cerebras key", "cs" + "k-" + _small(48)),
    ("NVIDIA key", "nv" + "api-" + _mixed(64)),
    ("Tavily key", "tv" + "ly-dev-" + _mixed(32)),
    ("LangSmith key", "ls" + "v2_pt_" + _hex(32) + "_" + _hex(10)),
    ("Pinecone key", "pc" + "sk_" + _mixed(6) + "_" + _mixed(63)),
    ("Together key", "tg" + "p_v1_" + _mixed(43)),
    ("Jina key", "ji" + "na_" + _hex(32) + _mixed(28)),
    ("Fireworks key", "fw" + "_" + _mixed(24)),
    ("Slack token", "xo" + f"xb-{'1234567890' * 2}-{_mixed(24)}"),
    ("Slack token", "xo" + f"xp-123456789012-123456789012-123456789012-{_hex(32)}"),
    ("Slack token", "xa" + f"pp-1-A0{_large(9)}-1234567890123-{_hex(64)}"),
    ("Slack token", "xo" + "xe.xo" + f"xp-1-{_mixed(160)}"),
    ("Discord token", "M" + _mixed(25) + "." + _mixed(6) + "." + _mixed(38)),
    ("Discord token", "N" + _mixed(23) + "." + _mixed(6) + "." + _mixed(27)),
    ("Telegram token", "1234567890" + ":AA" + _mixed(33)),
    ("Twitch token", "oau" + "th:" + _small(30)),
    ("Twilio key", "S" + "K" + _hex(32)),
    ("SendGrid key", "S" + "G." + _mixed(22) + "." + _mixed(43)),
    ("Mailgun key", "ke" + "y-" + _hex(32)),
    ("Mailchimp key", _hex(32) + "-us" + "14"),
    ("Brevo key", "xkey" + "sib-" + _hex(64) + "-" + _mixed(16)),
    ("Resend key", "re" + "_" + _mixed(8) + "_" + _mixed(24)),
    ("Facebook token", "EA" + "AM" + _mixed(120)),
    ("Stripe key", "sk" + "_live_" + _mixed(24)),
    ("Stripe key", "rk" + "_test_" + _mixed(24)),
    ("Stripe key", "wh" + "sec_" + _mixed(32)),
    ("Square token", "sq" + "0atp-" + _mixed(22)),
    ("Square token", "EA" + "AA" + _mixed(60)),
    ("Braintree token", "access_" + "token$production$" + _small(16) + "$" + _hex(32)),
    ("Plaid token", "acc" + "ess-production-" + UUID),
    ("Razorpay key", "rz" + "p_live_" + _mixed(14)),
    ("Flutterwave key", "FLW" + "SECK_TEST-" + _hex(32) + "-X"),
    ("EasyPost key", "EZ" + "AK" + _mixed(54)),
    ("Shippo token", "ship" + "po_live_" + _hex(40)),
    ("Duffel token", "duf" + "fel_live_" + _mixed(43)),
    ("Lob key", "li" + "ve_" + _hex(35)),
    ("Shopify token", "sh" + "pat_" + _hex(32)),
    ("Shopify token", "sh" + "pss_" + _hex(32)),
    ("Notion token", "nt" + "n_" + "12345678901" + _mixed(35)),
    ("Notion token", "sec" + "ret_" + _mixed(43)),
    ("Linear key", "lin" + "_api_" + _mixed(40)),
    ("Airtable token", "pa" + "t" + _mixed(14) + "." + _hex(64)),
    ("Asana token", "1/" + "1234567890123456" + ":" + _hex(32)),
    ("Figma token", "fi" + "gd_" + _mixed(40)),
    ("Contentful token", "CF" + "PAT-" + _mixed(43)),
    ("HubSpot token", "pa" + "t-na1-" + UUID),
    ("Typeform token", "tf" + "p_" + _mixed(59)),
    ("ReadMe key", "rd" + "me_" + _small(70)),
    ("Dropbox token", "s" + "l." + _mixed(135)),
    ("Mapbox token", "s" + "k.ey" + "J" + _mixed(60) + "." + _mixed(22)),
    ("MaxMind key", _mixed(6) + "_" + _mixed(29) + "_m" + "mk"),
    ("Adobe secret", "p8" + "e-" + _mixed(32)),
    ("Grafana token", "gl" + "sa_" + _mixed(32) + "_" + _hex(8)),
    ("Grafana token", "gl" + "c_" + _mixed(80) + "="),
    ("Grafana token", "ey" + "JrIjoi" + _mixed(80) + "="),
    ("New Relic key", "NR" + "AK-" + _large(27)),
    ("New Relic key", "NR" + "II-" + _mixed(32)),
    ("Sentry token", "sn" + "tryu_" + _hex(64)),
    ("Sentry token", "sn" + "trys_ey" + "J" + _mixed(100) + "_" + _mixed(43)),
    ("Dynatrace token", "dt" + "0c01." + _large(24) + "." + _large(64)),
    ("JSON web token", JWT),
)
# A name tells nothing here: the form must be enough.
_AROUND = (
    "{}", "value = '{}'", "Use {}, and tell nobody.", '  "x": "{}",', "echo {} | base64", "- `{}`",
    "curl https://example.org/?x={}&y=1", r'"first line\n{}\nlast line"', "X={}  # of the team",
)  # fmt: skip

_P8, _P10, _P11 = "Xk9$mQ2v", "S3cr3t!x" + "9z", "Tr0ub4dor&" + "3"  # as people choose passwords
_L16, _H32, _M40 = _letters(16), _hex(32), _mixed(40)
_B64 = "dXNlc" + "jpoMHJzZS1iNHR0ZXJ5"
_GOOGLE_APP = "qkzv" + "wjxh" + "tgbm" + "rpfd"

# Where only secrets stand. `{}` is the secret.
PLACES: tuple[tuple[str, str, str], ...] = (
    ("password in an address", "postgresql://ada:{}@db.example.org/team", "hunter2"),
    ("password in an address", "postgres://ada:{}@db.example.org:5432/team", "p%40ss%2Fw0rd"),
    ("password in an address", "DATABASE_URL=mysql://root:{}@127.0.0.1/shop", "pa$$w0rd-9"),
    ("password in an address", "redis://:{}@cache:6379/0", _M40),
    ("password in an address", "mongodb+srv://app:{}@cluster0.example.net/?w=majority", _P10),
    ("password in an address", "amqp://worker:{}@mq/vhost", "r4bb1t-h0le"),
    ("password in an address", "https://x-access-token:{}@github.com/a/b.git", _M40),
    ("password in an address", "git clone https://{}@github.com/a/b.git", _hex(40)),
    ("password in an address", "ftp://deploy:{}@files.example.org", "$ummerT1me"),
    ("password in an address", "  url: 'smtp://mailer:{}@smtp.example.org:587'", "m%24il-Er7"),
    ("password in an address", "postgresql://ada:{}@db.example.org/team", "raw@sign-7x"),
    ("password in an address", "sqlserver://sa:{}@db:1433?database=x", "84629173"),
    ("address with a secret", "https://example.org/hook?token={}", _M40),
    ("address with a secret", "GET /v1/items?a=1&api_key={}&b=2", _H32),
    (
        "address with a secret",
        "https://x.blob.core.windows.net/c?sv=2024&sig={}",
        _mixed(43) + "%3D",
    ),
    ("address with a secret", "https://maps.example.org/api?key={}", _M40),
    ("address with a secret", "https://s3.example.org/a?X-Amz-Signature={}&x=1", _hex(64)),
    ("address with a secret", "https://example.org/cb?access_token={}#x", _mixed(64)),
    ("connection string", "Server=db;Database=shop;User Id=sa;Password={};", "hunter2"),
    ("connection string", '"Server=db;Uid=app;Pwd={};Encrypt=yes"', "letmein"),
    ("connection string", "Data Source=db;Password={};User ID=sa", _P10),
    ("connection string", "jdbc:sqlserver://db:1433;user=sa;password={};encrypt=true", _P11),
    ("connection string", "Driver={{ODBC}};PWD={};UID=app", "Summer24"),
    ("connection string", 'conn = "host=db port=5432 user=ada password={}"', "hunter2"),
    ("connection string", "host=db password={} dbname=team", "s3cret-one"),
    ("connection string", "dsn: user=ada password='{}' host=db", _P8),
    ("Azure key", "AccountName=x;AccountKey={};EndpointSuffix=core.windows.net", _mixed(86) + "=="),
    ("Azure key", "Endpoint=sb://x/;SharedAccessKeyName=k;SharedAccessKey={}", _mixed(43) + "="),
    ("Azure client secret", "AZURE_SECRET={}", _mixed(3) + "8Q" + "~" + _mixed(34)),
    ("Slack webhook", "https://hooks.slack.com/services/{}", "T00000000/B00000000/" + _mixed(24)),
    ("Discord webhook", "https://discord.com/api/webhooks/123456789012345678/{}", _mixed(68)),
    ("Discord webhook", "https://discordapp.com/api/webhooks/123456789012345678/{}", _mixed(60)),
    (
        "Teams webhook",
        "https://acme.webhook.office.com/webhookb2/{}",
        f"{UUID}@{UUID}/IncomingWebhook/{_H32}/{UUID}",
    ),
    ("Zapier webhook", "https://hooks.zapier.com/hooks/catch/{}", "123456/ab" + "c12de"),
    ("authorization header", "Authorization: Bearer {}", _M40),
    ("authorization header", "curl -H 'Authorization: Basic {}' https://x", _B64),
    ("authorization header", "headers = {{'Authorization': 'Token {}'}}", _hex(40)),
    ("authorization header", '-H "authorization: {}"', _M40),
    ("authorization header", 'Authorization: Token token="{}"', _H32),
    ("authorization header", "Authorization: SSWS {}", "00" + _mixed(40)),
    ("authorization header", 'auth = f"Bearer {}"', _mixed(64)),
    ("authorization header", "Proxy-Authorization: Basic {}", _B64),
    ("request header", "curl -H 'X-Api-Key: {}' https://x", _M40),
    ("request header", "PRIVATE-TOKEN: {}", _mixed(20)),
    ("request header", '-H "X-Auth-Token: {}" \\', _H32),
    ("request header", "X-Vault-Token: {}", UUID),
    ("registry login", '  "auth": "{}"', _B64),
    ("registry login", "//registry.example.org/:_auth={}", _B64 + "=="),
    ("registry login", "//registry.example.org/:_authToken={}", UUID),
    ("netrc", "machine api.example.org login ada password {}", "hunter2"),
    ("netrc", "default login anonymous password {}", "letmein"),
    ("netrc", "  password {}", _P10),
    ("password hash", "ada:{}", "$apr" + "1$" + _mixed(8) + "$" + _mixed(22)),
    ("password hash", "root:{}:19000:0:99999:7:::", "$6" + "$" + _mixed(16) + "$" + _mixed(86)),
    ("password hash", "ada:{}", "$2y" + "$10$" + _mixed(53)),
    ("flag", "deploy --token={}", _M40),
    ("flag", "deploy --token {}", _M40),
    ("flag", "mysqldump --password={} shop", "hunter2"),
    ("flag", "helm upgrade --set db.password={} chart", _P10),
    ("flag", "tool --api-key '{}' run", _H32),
    ("flag", "docker login --username ada --password {} registry", _P11),
    ("flag", "kubectl create secret generic x --from-literal=password={}", _P10),
    ("flag", "kubeadm join 10.0.0.1:6443 --token {}", _small(6) + "." + _small(16)),
    ("command", "sshpass -p {} ssh ada@host", "hunter2"),
    ("command", "curl -u ada:{} https://x", "hunter2"),
    ("command", "curl --user  ada:'{}' -iX PATCH https://x", _P10),
    ("command", 'curl -s --user "ada:{}" https://x', _P10),
    ("command", "mysql -u root -p{} shop", "hunter2"),
    ("command", "PGPASSWORD={} psql -h db", "hunter2"),
    ("command", "export MYSQL_PWD={}; mysql", "sh0pkeeper"),
    ("command", "setx API_TOKEN {}", _M40),
    ("Dockerfile", "ENV DB_PASSWORD {}", _P10),
    ("Dockerfile", "ENV API_KEY={}", _H32),
    ("Dockerfile", "ARG NPM_TOKEN={}", UUID),
    ("settings line", "SECRET_KEY={}", _M40),
    ("settings line", "DB_PASSWORD={}", "hunter2"),
    ("settings line", "DB_PASS={}", _P10),
    ("settings line", "db_pwd: {}", _P8),
    ("settings line", "smtp_pass = {}", _P11),
    ("settings line", "password          = {}", "mailer77x"),
    ("settings line", "api_key: {}  # of the team", _H32),
    ("settings line", "token = {} ; rotate in May", _M40),
    ("settings line", "client_secret: {} // prod", _mixed(24)),
    ("settings line", "ADMIN_PASSWORD={}", "xK9[mN2p]Q7rT"),
    ("settings line", "secret_key_base: {}", _hex(128)),
    ("settings line", "APP_KEY=base64:{}", _mixed(43) + "="),
    ("settings line", "aws_secret_access_key = {}", _mixed(20) + "/" + _mixed(19)),
    ("settings line", "aws_session_token={}", _mixed(200)),
    ("settings line", "token: {}", _letters(32)),
    ("settings line", "PrivateKey = {}", _mixed(43) + "="),
    ("settings line", "  password: {}", "cGFzc3dvcmQtMTI" + "zNA=="),
    ("settings line", "psk={}", "wl4n-garden"),
    ("settings line", "spring.datasource.password={}", _P10),
    ("settings line", "MAIL_PASSWORD={}", _GOOGLE_APP),
    ("code", 'password = "{}"', _P8),
    ("code", 'password = "{}"', "hunter2"),
    ("code", "pwd = '{}'", _P10),
    ("code", "db_pass='{}',", _P11),
    ("code", 'String dbPass = "{}";', _P10),
    ("code", 'const apiKey = "{}";', _H32),
    ("code", 'apiKey: "{}",', _M40),
    ("code", "const token = `{}`;", _M40),
    ("code", 'token: str = "{}"', _M40),
    ("code", 'private static final String API_KEY = "{}";', _H32),
    ("code", 'const password: string = "{}";', _P10),
    ("code", 'var apiKey string = "{}"', _M40),
    ("code", 'let secret: &str = "{}";', _M40),
    ("code", 'secret := "{}"', _M40),
    ("code", "$config['password'] = '{}';", _P10),
    ("code", ":password => '{}'", _P10),
    ("code", "define('DB_PASSWORD', '{}');", _P10),
    ("code", 'os.environ["API_TOKEN"] = "{}"', _M40),
    ("code", 'key = os.getenv("SECRET_KEY", "{}")', _M40),
    ("code", "connect(host='db', password='{}')", _P8),
    ("code", 'token = "{}"', _letters(24)),
    ("code", 'api_key = "{}"', _signs(string.ascii_lowercase, 24)),
    ("code", 'password = "{}"', "ab[cd12-efg]h9"),
    ("code", 'if token == "{}":', _M40),
    ("code", r'body = "{{\"password\":\"{}\"}}"', _P10),
    ("code", 'passphrase = b"{}"', _M40),
    ("code", 'STRIPE_KEY ?= "{}"', _M40),
    ("code", 'encryption_key = "{}"', _H32),
    ("code", 'SIGNING_KEY = "{}"', _mixed(50)),
    ("JSON", '"password": "{}",', _P8),
    ("JSON", '{{"client_secret":"{}"}}', _mixed(24)),
    ("JSON", '"storageKey": "{}",', _hex(40)),
    ("JSON", '{{"name": "API_KEY", "value": "{}"}}', _H32),
    ("XML", "<password>{}</password>", _P10),
    ("XML", "<password>{}</password>", "hunter2"),
    ("XML", '<add key="ApiKey" value="{}" />', _H32),
    ("XML", '<property name="password" value="{}"/>', _P10),
    ("XML", "<apiKey>{}</apiKey>", _M40),
    ("XML", '<add name="db" connectionString="Server=x;Password={};"/>', "Summer24"),
    ("SQL", "CREATE USER ada IDENTIFIED BY '{}';", "hunter2"),
    ("SQL", "ALTER ROLE ada WITH PASSWORD '{}';", _P10),
    # Words alone, and a value that stands apart from its name: these are missed.
    ("words", 'password = "{}"', "correct horse battery staple"),
    ("words", "password: {}", "sunshine"),
    ("apart", "- name: DB_PASSWORD\n  value: {}", "hunter2"),
    ("apart", 'login("ada", "{}")', "hunter2"),
)


def samples() -> Iterator[Sample]:
    for at, (kind, key) in enumerate(KEYS):
        yield Sample(kind, _AROUND[at % len(_AROUND)].format(key), key)
    for kind, line, secret in PLACES:
        yield Sample(kind, line.format(secret), secret)


# Lines that stay as they are.
HONEST: tuple[str, ...] = (
    'password = "correct horse battery"', "token = tokenize(text)", "secret: str = ''",
    'api_key = os.environ["OPENAI_API_KEY"]', "password: {{ vault_password }}",
    "https://user:pass@example.com/", "https://user:password@host", "http://[user:passwd@]proxy",
    "token = 'not-a-real-token-1'", 'key = "primary_key_of_table_2"', "sk-learn-is-a-library",
    "task-0123456789", "the password of the week is printed", "git@github.com:a/b.git",
    "ssh://git@host:22/x", "12:30:45 someone@example.org", "secret = getpass.getpass()",
    "sha256:" + "0a1b" * 16, "commit " + "9f" * 20, "a" * 500, "AKIA", "ghp_short",
    "password = 'xxxxxxxxxxxxxxxx1'", "uuid = '123e4567-e89b-12d3-a456-426614174000'",
    "token: Callable[[int], str] = make_token_12345678901234567890",
    "postgresql://ada:${DB_PASSWORD}@db/team", "postgresql://ada:$DB_PASSWORD@db/team",
    "postgresql://%(user)s:%(password)s@%(host)s/", "postgres://USER:YOUR_DB_PASSWORD@host/db",
    "postgresql://ada:***@db/team", "https://example.com:8080/@user", "http://localhost:3000/a@b",
    "Server=db;Password=<password>;", "Password={password};User={user}",
    "host=db password=$PGPASSWORD port=1", 'password = "test1234"', 'PASSWORD = "password1"',
    'api_key="your-api-key-here"', "pwd = '/var/lib/app2/x'", "tokens = tokens[:-1]",
    "csrf_token = match[1]", "token = b64encode(userpass).decode()",
    "token_header = 'HTTP_X_CSRFTOKEN_CUSTOMIZED'", "_csrf_id_token = MASKED_TEST_SECRET2",
    "secretName: my-release-tls-2", "tokenAlgorithm: hmac-sha256", "credentials__username=user123",
    "password_hasher = 'django.contrib.auth.hashers.PBKDF2PasswordHasher'", "bypass = 'abc1def2'",
    "compass: n0rth-west-1", "passed = 12 of 14 tests", "primary_key = 'order_line_2024'",
    "<label>Password 1</label>", "<password>${db.password}</password>",
    "--token-file=/run/secrets/token2", "--password-stdin < ~/secret2.txt",
    "run --no-token --workers 4", "curl -u $USER:$PASS https://x", "curl -u ada https://x:8443/y",
    "login and password boxes are shown", "machine learning needs a default login page",
    "Authorization: Bearer <token>", "Authorization: Bearer ${TOKEN}",
    "authorization: required, see section 4.2.1 of the manual", 'The "auth": "basic" mode',
    "?page=2&sort=created_at&order=desc", "?key=primary-colour-of-the-page",
    "ENV PASSWORD_FILE /run/secrets/pw1", "if password == confirm_password2:",
    "keys = ['a1', 'b2']", "const secret = process.env.SESSION_SECRET2;",
    "secret: arn:aws:secretsmanager:eu-west-1:123456789012:secret:x",
    "password: ENC[AES256_GCM,data:abc]", "token = request.headers['X-Token-2']",
    "s.someVeryLongAttributeName", "import EAAbstractFactoryBuilderProvider",
    "class SKProductsRequestDelegateAdapterFactory1: ...",
)  # fmt: skip
