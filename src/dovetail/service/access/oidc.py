"""Log in through an identity provider (OpenID Connect): the code flow with PKCE, state and nonce.

The setting is a document in the home, `service/oidc.json`. It has the name of the client's secret, not the
secret: that is read like `SECRET("name")` in a query. The provider can log in a user who was added for it
(`dovetail user add NAME --oidc`), or somebody whose groups were granted something; never a user who has a
password here.
"""

from __future__ import annotations

import base64
import hashlib
import json
import secrets
import urllib.error
import urllib.parse
import urllib.request
from dataclasses import asdict, dataclass
from typing import Any

from dovetail.connectors.extras import need
from dovetail.connectors.secret import Secret
from dovetail.errors import CorruptFile, SettingError, Unreachable
from dovetail.log import document
from dovetail.log.homes.filesystem import open_store
from dovetail.model import json_values as said
from dovetail.service.access.people import Access
from dovetail.service.access.roles import Refused

KIND, VERSION = "dovetail.oidc", 1
PATH = "service/oidc.json"
PATIENCE_S = 10.0
LEEWAY_S = 30
LARGEST = 1 << 20
ALGORITHMS = ("RS256", "ES256", "PS256", "EdDSA")
_REMEDY = "delete the file, and set it again with `dovetail access oidc`"


@dataclass(frozen=True)
class Provider:
    """`secret`: its name; empty for a public client. `claim`: of the user's name. `groups`: of the groups."""

    issuer: str
    client: str
    secret: str = ""
    claim: str = "preferred_username"
    groups: str = "groups"

    def __post_init__(self) -> None:
        place = urllib.parse.urlsplit(self.issuer)
        local = place.hostname in ("127.0.0.1", "localhost", "::1")
        if place.scheme != "https" and not (place.scheme == "http" and local):
            raise SettingError(
                f"{self.issuer[:200]!r} cannot be an identity provider", expected="an address with https://"
            )


@dataclass(frozen=True)
class LoginJourney:
    """What the browser is sent to, and what must be the same when it comes back."""

    address: str
    state: str
    nonce: str
    verifier: str


def read_provider(home: str) -> Provider | None:
    store = open_store(home)
    where = f"{store.root}/{PATH}"
    try:
        body = document.decode(store.read(PATH), KIND, VERSION, where=where, remedy=_REMEDY)
    except FileNotFoundError:
        return None
    try:
        fields = said.fields(body, Provider.__dataclass_fields__)
        return Provider(**{name: said.text(value) for name, value in fields.items()})
    except (ValueError, SettingError) as error:
        raise CorruptFile(f"the file names no provider: {error}", where=where, hint=_REMEDY) from error


def write_provider(home: str, provider: Provider | None) -> None:
    store = open_store(home)
    store.make_folder("service")
    if provider is None:
        store.delete(PATH)
    else:
        store.replace(PATH, document.encode(KIND, VERSION, asdict(provider)))


def begin(provider: Provider, back: str) -> LoginJourney:
    """`back`: the address of this service that the provider sends people back to."""
    state, nonce, verifier = (secrets.token_urlsafe(32) for _ in range(3))
    challenge = base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).rstrip(b"=")
    asked = {
        "response_type": "code",
        "client_id": provider.client,
        "redirect_uri": back,
        "scope": "openid profile email",
        "state": state,
        "nonce": nonce,
        "code_challenge": challenge.decode(),
        "code_challenge_method": "S256",
    }
    address = _described(provider)["authorization_endpoint"]
    mark = "&" if "?" in address else "?"
    return LoginJourney(f"{address}{mark}{urllib.parse.urlencode(asked)}", state, nonce, verifier)


def finish(
    provider: Provider, back: str, code: str, nonce: str, verifier: str
) -> tuple[str, tuple[str, ...]]:
    """The name and the groups that the provider vouches for."""
    described = _described(provider)
    asked = {
        "grant_type": "authorization_code",
        "code": code,
        "redirect_uri": back,
        "client_id": provider.client,
        "code_verifier": verifier,
    }
    if provider.secret:
        asked["client_secret"] = Secret(provider.secret).reveal()
    answer = _fetched(described["token_endpoint"], urllib.parse.urlencode(asked).encode())
    claims = _claims(provider, described, str(answer.get("id_token", "")), nonce)
    name, groups = claims.get(provider.claim), claims.get(provider.groups, [])
    if not isinstance(name, str) or not name:
        raise Refused(f"the identity provider does not tell the claim {provider.claim}")
    listed = groups if isinstance(groups, list) else []
    return name, tuple(group for group in listed if isinstance(group, str))


def let_in(access: Access, name: str, groups: tuple[str, ...]) -> None:
    """Raise if this user must not log in through a provider."""
    user = access.user(name)
    if user is not None and not (user.oidc and user.active):
        raise Refused(f"{name} does not log in by the identity provider", expected="a password, if active")
    named = {f"@{group}" for group in groups}
    if user is None and not any(grant.who in named for grant in access.grants):
        raise Refused(
            f"{name} is not known here",
            hint=f"an admin can say `dovetail user add {name} --oidc`, or grant a role to a group",
        )


def _claims(provider: Provider, described: dict[str, Any], token: str, nonce: str) -> dict[str, Any]:
    jwt: Any = need("oidc", "jwt", "cryptography", by="to log in by an identity provider")
    try:
        keys = jwt.PyJWKSet.from_dict(_fetched(described["jwks_uri"]))
        number = jwt.get_unverified_header(token).get("kid")
        key = next(key for key in keys.keys if number is None or key.key_id == number)
        claims: dict[str, Any] = jwt.decode(
            token,
            key,
            algorithms=list(ALGORITHMS),
            audience=provider.client,
            issuer=described["issuer"],
            leeway=LEEWAY_S,
            options={"require": ["exp", "iat", "iss", "aud", "sub", "nonce"]},
        )
    except (jwt.PyJWTError, StopIteration) as error:
        raise Refused(
            f"the identity provider's word does not hold: {error or type(error).__name__}"
        ) from None
    if not secrets.compare_digest(str(claims["nonce"]), nonce):
        raise Refused("the identity provider's word is for another log-in")
    return claims


def _described(provider: Provider) -> dict[str, Any]:
    found = _fetched(provider.issuer.rstrip("/") + "/.well-known/openid-configuration")
    if str(found.get("issuer", "")).rstrip("/") != provider.issuer.rstrip("/"):
        raise Refused("the identity provider calls itself otherwise", where=provider.issuer)
    return found


def _fetched(address: str, body: bytes | None = None) -> dict[str, Any]:
    if not address.startswith(("https://", "http://")):
        raise Refused("the identity provider names a place that is not a web address", where=address[:200])
    request = urllib.request.Request(address, body, {"Accept": "application/json"})
    try:
        with urllib.request.urlopen(request, timeout=PATIENCE_S) as answer:  # nosec B310
            found = json.loads(answer.read(LARGEST))
    except urllib.error.HTTPError as error:
        raise Refused(f"the identity provider says {error.code}", where=address) from None
    except (OSError, ValueError) as error:
        raise Unreachable(f"the identity provider: {type(error).__name__}", where=address) from None
    if not isinstance(found, dict):
        raise Refused("the identity provider does not answer with an object", where=address)
    return found
