"""Login with an account somewhere else: the authorization code flow of OAuth 2."""

import base64
import hashlib
import secrets
from urllib.parse import urlencode


class OAuthClient:
    """Talks to one provider."""

    def __init__(self, provider, http):
        self.provider = provider
        self.http = http
        self.verifiers: dict[str, str] = {}

    def authorization_url(self, redirect_uri):
        """Where to send the browser; the state comes back with the code."""
        state, verifier = secrets.token_urlsafe(16), secrets.token_urlsafe(64)
        self.verifiers[state] = verifier
        challenge = base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest())
        asked = {
            "client_id": self.provider.client_id,
            "redirect_uri": redirect_uri,
            "state": state,
            "code_challenge": challenge.rstrip(b"=").decode(),
            "code_challenge_method": "S256",
        }
        return f"{self.provider.authorize_url}?{urlencode(asked)}"

    def exchange_code(self, state, code):
        """The code for an access token."""
        verifier = self.verifiers.pop(state)
        answer = self.http.post(self.provider.token_url, {"code": code, "code_verifier": verifier})
        return answer["access_token"]
