"""Log-ins by a real identity provider on loopback, and the service over TLS."""

from __future__ import annotations

import datetime
import ipaddress
import ssl
import threading
import urllib.request
import warnings
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
import uvicorn
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from fastapi.testclient import TestClient
from serving import calling, people, quiet_daemon

from dovetail.errors import CorruptFile, SettingError
from dovetail.service.access import oidc
from dovetail.service.access.audit import audited
from dovetail.service.access.oidc import Provider, read_provider, write_provider
from dovetail.service.access.people import User, add_user, change, grant
from dovetail.service.server.ledger import ledger_path
from dovetail.service.server.listening import Listening
from dovetail.service.server.running import configured, listening
from dovetail.service.server.state import Daemon

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning")


@pytest.fixture(scope="module")
def issuer() -> Iterator[str]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the provider's own libraries are not ours to mend
        import oidc_provider_mock as provider

        users = [
            provider.User(sub="1", claims={"preferred_username": "grace"}),
            provider.User(sub="2", claims={"preferred_username": "ada"}),
            provider.User(sub="3", claims={"preferred_username": "linus", "groups": ["kernel"]}),
            provider.User(sub="4", claims={"preferred_username": "mallory"}),
            provider.User(sub="5", claims={}),
        ]
        with provider.run_server_in_thread(user_claims=users) as server:
            yield f"http://localhost:{server.server_port}"


@pytest.fixture
def daemon(tmp_path: Path, issuer: str, monkeypatch: pytest.MonkeyPatch) -> Daemon:
    made = quiet_daemon(tmp_path)
    monkeypatch.setattr(oidc, "PATIENCE_S", 300.0)
    people(made.home)
    monkeypatch.setenv("OIDC_SECRET", "client secret")
    write_provider(made.home, Provider(issuer, "dovetail", "OIDC_SECRET"))
    change(made.home, lambda access: add_user(access, User("grace", oidc=True)))
    change(made.home, lambda access: grant(access, "@kernel", "viewer", "linux_*"))
    return made


@pytest.fixture
def client(daemon: Daemon) -> Iterator[TestClient]:
    with calling(daemon) as client:
        yield client


class _Stay(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_: object) -> None:
        return None


def at_provider(address: str, subject: str) -> str:
    """Somebody says who they are, on the provider's page; gives the address that it leads back to."""
    opener = urllib.request.build_opener(_Stay)
    try:
        opener.open(urllib.request.Request(address, f"sub={subject}".encode()))
    except urllib.error.HTTPError as answer:
        return str(answer.headers["Location"])
    raise AssertionError("the provider leads nowhere")


def journey(client: TestClient, subject: str) -> str:
    out = client.get("/oidc", params={"back": "/log"})
    assert out.status_code == 303
    assert {"state", "nonce", "code_challenge"} <= parse_qs(urlsplit(out.headers["location"]).query).keys()
    back = urlsplit(at_provider(out.headers["location"], subject))
    return f"{back.path}?{back.query}"


def test_people_log_in_by_an_identity_provider(client: TestClient, daemon: Daemon, issuer: str) -> None:
    assert f"Log in with {issuer}" in client.get("/login").text
    back = journey(client, "1")
    arrived = client.get(back)
    assert arrived.status_code == 200
    assert "url=/log" in arrived.text
    assert "Log out grace" in client.get("/").text
    client.cookies.clear()
    assert client.get(back).status_code == 403, "a code works once, in the browser that asked for it"
    assert [(row["by"], row["outcome"][:4]) for row in reversed(audited(daemon.home))] == [
        ("grace", "done"),
        ("unknown", "this"),
    ]


@pytest.mark.parametrize(
    ("subject", "said"),
    [
        ("2", "ada does not log in by the identity provider"),
        ("4", "mallory is not known here"),
        ("5", "does not tell the claim preferred_username"),
    ],
)
def test_the_provider_lets_in_only_whom_it_is_to(client: TestClient, subject: str, said: str) -> None:
    answer = client.get(journey(client, subject))
    assert answer.status_code == 403
    assert said in answer.text
    assert client.get("/").status_code == 401


def test_groups_of_the_provider_have_the_roles_that_were_granted(client: TestClient, daemon: Daemon) -> None:
    assert client.get(journey(client, "3")).status_code == 200
    assert client.get("/").status_code == 200
    session = daemon.ledger.session(client.cookies["dovetail_session"])
    assert session is not None
    assert session.groups == ("kernel",)


def test_a_journey_belongs_to_the_browser_that_began_it(client: TestClient) -> None:
    back = journey(client, "1")
    client.cookies.clear()
    assert client.get(back).status_code == 403
    assert client.get("/oidc/back?code=x&state=").status_code == 403


def test_a_provider_that_is_away_or_none_is_an_error_of_ours(client: TestClient, daemon: Daemon) -> None:
    write_provider(daemon.home, Provider("http://127.0.0.1:9", "dovetail"))
    assert client.get("/oidc").status_code == 503
    write_provider(daemon.home, None)
    assert client.get("/oidc").status_code == 403
    with pytest.raises(SettingError, match="cannot be an identity provider"):
        Provider("http://example.org", "dovetail")


def test_the_setting_is_checked_when_it_is_read(daemon: Daemon) -> None:
    path = Path(daemon.home) / "service/oidc.json"
    assert b"client secret" not in path.read_bytes()
    path.write_bytes(path.read_bytes()[:-4])
    with pytest.raises(CorruptFile):
        read_provider(daemon.home)


def certificate(folder: Path) -> tuple[Path, Path]:
    """For this host, by itself."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "127.0.0.1")])
    now = datetime.datetime.now(datetime.UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - datetime.timedelta(hours=1))
        .not_valid_after(now + datetime.timedelta(hours=1))
        .add_extension(
            x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]), critical=False
        )
        .sign(key, hashes.SHA256())
    )
    cert, private = folder / "cert.pem", folder / "key.pem"
    cert.write_bytes(made.public_bytes(serialization.Encoding.PEM))
    pem = (serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    private.write_bytes(key.private_bytes(*pem))
    return cert, private


def test_over_tls_cookies_are_for_tls_only(tmp_path: Path) -> None:
    cert, key = certificate(tmp_path)
    wanted = Listening("127.0.0.1", 0, certificate=cert, key=key)
    with listening("127.0.0.1", 0) as listener:
        port = listener.getsockname()[1]
        home = str(tmp_path / "home")
        daemon = Daemon(home, ledger_path(home), wanted.hosts(port), wanted.address(port))
        server = uvicorn.Server(configured(daemon, wanted))
        thread = threading.Thread(target=lambda: server.run(sockets=[listener]))
        thread.start()
        try:
            trusted = ssl.create_default_context(cafile=str(cert))
            opener = urllib.request.build_opener(urllib.request.HTTPSHandler(context=trusted), _Stay)
            while not server.started:
                thread.join(0.05)
            with opener.open(f"https://127.0.0.1:{port}/healthz") as answer:
                assert "max-age" in answer.headers["strict-transport-security"]
            with pytest.raises(urllib.error.HTTPError) as arrived:
                opener.open(f"https://127.0.0.1:{port}/login?link={daemon.ledger.new_link()}")
            assert arrived.value.code == 303
            assert "Secure" in arrived.value.headers["set-cookie"]
            arrived.value.close()
        finally:
            server.should_exit = True
            thread.join()
