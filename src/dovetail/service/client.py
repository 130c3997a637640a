"""`dovetail.Client`: the service's API from Python, with nothing but the standard library.

    client = dovetail.Client("http://127.0.0.1:8630", token)
    client.deploy(open("clicks.pql").read())
    client.rows("clicks")

Law: an error of the service is the same exception, with the same words, as the command line would print.
"""

from __future__ import annotations

import json
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from dovetail.errors import DovetailError, InputError, SettingError, Unreachable

if TYPE_CHECKING:
    import pyarrow as pa

JSON_LINES, ARROW = "application/x-ndjson", "application/vnd.apache.arrow.stream"


class Client:
    """`token`: of `dovetail token new`. Methods are the calls of `/api/v1`, and give what these answer.
    `revision`: what `get` said; a change is refused if somebody was faster."""

    def __init__(self, address: str, token: str, *, timeout_s: float = 60.0) -> None:
        if urllib.parse.urlsplit(address).scheme not in ("http", "https"):
            raise SettingError(
                f"{address!r} is not the address of a service", expected="an address with http:// or https://"
            )
        self._address = address.rstrip("/")
        self._token = token
        self._timeout_s = timeout_s

    def applications(self) -> list[dict[str, Any]]:
        """All applications that you may see."""
        return self._all("/applications")

    def get(self, application: str) -> dict[str, Any]:
        return self._of("GET", application, "")

    def check(self, text: str, application: str | None = None) -> dict[str, Any]:
        """What prevents a query from being accepted, without touching anything."""
        asked = {"application": application} if application else {}
        return self._one("POST", "/check", {"text": text}, query=asked)

    def create(self, text: str) -> dict[str, Any]:
        """A new application, not started."""
        return self._one("POST", "/applications", {"text": text})

    def deploy(
        self,
        text: str,
        application: str | None = None,
        revision: int | None = None,
        *,
        begins: Sequence[str] = (),
        reslice: bool = False,
    ) -> dict[str, Any]:
        """Let an application run this query: a new one, or one that continues with it. `application`: if it
        is not the name in the text, the service says so. `begins`, `reslice`: as `--from` and `--reslice` of
        `dovetail run`, for example `["clicks=earliest"]`."""
        name = application or self.check(text)["application"] or _name_in(text)
        return self._of("PUT", name, "", {"text": text, **_said(begins, reslice)}, revision)

    def start(self, application: str, revision: int | None = None) -> dict[str, Any]:
        return self._of("POST", application, "/start", None, revision)

    def stop(self, application: str, revision: int | None = None) -> dict[str, Any]:
        return self._of("POST", application, "/stop", None, revision)

    def restart(self, application: str, revision: int | None = None) -> dict[str, Any]:
        return self._of("POST", application, "/restart", None, revision)

    def rollback(
        self,
        application: str,
        version: int | None = None,
        revision: int | None = None,
        *,
        begins: Sequence[str] = (),
        reslice: bool = False,
    ) -> dict[str, Any]:
        said = {"version": version, **_said(begins, reslice)}
        return self._of("POST", application, "/rollback", said, revision)

    def scale(self, application: str, tasks: int | str) -> dict[str, Any]:
        return self._of("POST", application, "/scale", {"tasks": str(tasks)})

    def clone(self, application: str, name: str) -> dict[str, Any]:
        return self._of("POST", application, "/clone", {"name": name})

    def give(self, application: str, owner: str, revision: int | None = None) -> dict[str, Any]:
        return self._of("POST", application, "/give", {"owner": owner}, revision)

    def delete(self, application: str, revision: int | None = None) -> dict[str, Any]:
        """Stop it now, and remove what is its own after a day. The answer names what goes."""
        return self._of("DELETE", application, "", None, revision)

    def restore(self, application: str) -> dict[str, Any]:
        return self._of("POST", application, "/restore")

    def versions(self, application: str) -> list[dict[str, Any]]:
        return self._all(f"/applications/{application}/versions")

    def events(self, application: str, limit: int = 50) -> list[dict[str, Any]]:
        return self._all(f"/applications/{application}/events?limit={limit}")

    def history(self, application: str, minutes: float = 60) -> dict[str, list[Any]]:
        return self._of("GET", application, f"/history?minutes={minutes}")

    def rows(self, application: str, table: str | None = None, limit: int = 20) -> list[dict[str, Any]]:
        """The newest result rows, oldest first."""
        asked = urllib.parse.urlencode({"limit": limit, **({"table": table} if table else {})})
        found = self._of("GET", application, f"/rows?{asked}")
        return [dict(zip(found["columns_shown"], row, strict=True)) for row in found["rows_shown"]]

    def why(self, application: str, *key: object, join: str | None = None) -> dict[str, Any]:
        """What became of the rows with a key."""
        asked = [("key", str(part)) for part in key] + ([("join", join)] if join else [])
        return self._of("GET", application, f"/why?{urllib.parse.urlencode(asked)}")

    def alarms(self) -> list[dict[str, Any]]:
        return self._all("/alarms")

    def categories(self) -> list[dict[str, Any]]:
        return self._all("/log")

    def append(
        self,
        category: str,
        rows: Iterable[Mapping[str, Any]] | pa.Table,
        *,
        producer: str | None = None,
        sequence: int | None = None,
    ) -> dict[str, Any]:
        """Append rows. With a producer and a growing sequence the same rows enter once, however often they
        are sent."""
        import pyarrow as pa

        if isinstance(rows, pa.Table):
            sink = pa.BufferOutputStream()
            with pa.ipc.new_stream(sink, rows.schema) as writer:
                writer.write_table(rows)
            body, kind = sink.getvalue().to_pybytes(), ARROW
        else:
            body, kind = "\n".join(json.dumps(row, default=str) for row in rows).encode(), JSON_LINES
        named = {"Producer": producer, "Sequence": None if sequence is None else str(sequence)}
        headers = {name: value for name, value in named.items() if value is not None}
        path = f"/log/{urllib.parse.quote(category, safe='')}"
        return self._one("POST", path, body, kind=kind, headers=headers)

    def live(self) -> Iterator[list[dict[str, Any]]]:
        """All applications again and again, every two seconds, until the service or the token ends."""
        with self._opened("GET", "/stream", None, {}) as answer:
            event = ""
            for line in answer:
                word, _, rest = line.decode().rstrip("\n").partition(": ")
                if word == "event":
                    event = rest
                elif word == "data" and event == "end":
                    raise _error(json.loads(rest))
                elif word == "data":
                    yield json.loads(rest)

    def _of(
        self, method: str, application: str, call: str, body: Any = None, revision: int | None = None
    ) -> dict[str, Any]:
        headers = {} if revision is None else {"If-Match": f'"{revision}"'}
        path = f"/applications/{urllib.parse.quote(application, safe='')}{call}"
        return self._one(method, path, body, headers=headers)

    def _all(self, path: str) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self._called("GET", path)
        return found

    def _one(self, method: str, path: str, body: Any = None, **more: Any) -> dict[str, Any]:
        found: dict[str, Any] = self._called(method, path, body, **more)
        return found

    def _called(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        query: Mapping[str, str] | None = None,
        kind: str = "application/json",
        headers: Mapping[str, str] | None = None,
    ) -> Any:
        data = body if isinstance(body, bytes) else None if body is None else json.dumps(body).encode()
        asked = f"?{urllib.parse.urlencode(query)}" if query else ""
        with self._opened(method, path + asked, data, {"Content-Type": kind, **(headers or {})}) as answer:
            found = answer.read()
        return json.loads(found) if found else None

    def _opened(self, method: str, path: str, data: bytes | None, headers: Mapping[str, str]) -> Any:
        request = urllib.request.Request(
            f"{self._address}/api/v1{path}",
            data,
            {"Authorization": f"Bearer {self._token}", **headers},
            method=method,
        )
        try:
            return urllib.request.urlopen(request, timeout=self._timeout_s)  # nosec B310
        except urllib.error.HTTPError as error:
            with error:
                said = error.read()
            try:
                raise _error(json.loads(said)) from None
            except (ValueError, KeyError):
                raise Unreachable(f"the service answers {error.code}", where=self._address) from None
        except OSError as error:
            reason = getattr(error, "reason", error)
            raise Unreachable(f"the service cannot be reached: {reason}", where=self._address) from None


def _error(problem: Mapping[str, Any]) -> DovetailError:
    """The error that the service met. Kinds that were never imported would not be found."""
    from dovetail.service.access import roles  # noqa: F401
    from dovetail.service.keeping import quotas  # noqa: F401

    fields = ("condition", "what", "where", "expected", "hint")
    return DovetailError.from_json({"error": {name: problem[name] for name in fields}})


def _said(begins: Sequence[str], reslice: bool) -> dict[str, Any]:
    """What goes with a query; nothing, to a service of a release that knows nothing of it."""
    return {"begins": list(begins), "reslice": reslice} if begins or reslice else {}


def _name_in(text: str) -> str:
    """A text that does not compile still contains its name, and the service says what is wrong."""
    from dovetail.service.keeping.verbs import name_in

    found = name_in(text)
    if found is None:
        raise InputError("the text names no application", expected="CREATE APPLICATION name;")
    return found
