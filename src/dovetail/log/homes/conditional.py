"""Creating an object on S3 only if there is none: a PUT with `If-None-Match: *`.

Law: of any number of writers that create one object, one succeeds and the others learn that they did not,
however long each was asleep. This is what fences off a driver that slept past its lease: the lease says who
should write, the store decides who has written.

pyarrow has no such PUT. botocore does, and is an extra of this package (`s3`), because only this file needs
it. A store's name does not tell whether it honours the condition, so that is tried once per process: an old
server ignores a header that it does not know, and would overwrite.
"""

from __future__ import annotations

import os
import uuid
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from dovetail.errors import HomeError

_CONFLICTS = 5
"""S3 may answer a PUT that collides with another one under way by asking to try again."""


class ConditionalPut:
    """`create` of one store on S3."""

    def __init__(self, client: Any, root: str) -> None:
        self._client = client
        self._root = root

    def create(self, path: str, data: bytes) -> bool:
        """Put the object unless there is one; False then. `path` begins with the bucket."""
        from botocore.exceptions import BotoCoreError, ClientError

        bucket, _, key = path.partition("/")
        for _ in range(_CONFLICTS):
            try:
                self._client.put_object(Bucket=bucket, Key=key, Body=data, IfNoneMatch="*")
                return True
            except ClientError as error:
                status = error.response.get("ResponseMetadata", {}).get("HTTPStatusCode")
                if status == 412:
                    # The client repeats a PUT whose answer it did not get. Then the object may be ours.
                    return bool(self._client.get_object(Bucket=bucket, Key=key)["Body"].read() == data)
                if status != 409:
                    raise self._trouble(error, path) from error
            except BotoCoreError as error:
                raise self._trouble(error, path) from error
        raise self._trouble("other writers keep it busy", path)

    def is_honoured(self, folder: str) -> bool:
        """Whether the store refuses a second object of one name."""
        from botocore.exceptions import ClientError

        bucket, _, prefix = folder.partition("/")
        probe = f"{prefix}/.tmp-{uuid.uuid4().hex}".lstrip("/")
        try:
            self._client.put_object(Bucket=bucket, Key=probe, Body=b"1", IfNoneMatch="*")
            self._client.put_object(Bucket=bucket, Key=probe, Body=b"2", IfNoneMatch="*")
            return False
        except ClientError as error:
            return bool(error.response.get("ResponseMetadata", {}).get("HTTPStatusCode") == 412)
        finally:
            self._client.delete_object(Bucket=bucket, Key=probe)

    def _trouble(self, error: object, path: str) -> HomeError:
        return HomeError(
            f"cannot create a file of the home: {error}",
            where=f"{self._root} ({path})",
            hint="check the address, the credentials in the environment and the right to write there",
        )


def conditional_put(home: str, root: str, folder: str, region: str | None) -> ConditionalPut | None:
    """For a home on a store that honours it; None otherwise."""
    parts = urlsplit(home)
    if parts.scheme != "s3":
        return None
    try:
        import botocore.session
        from botocore.config import Config
        from botocore.exceptions import BotoCoreError, ClientError
    except ImportError:
        return None
    said = {name: values[-1] for name, values in parse_qs(parts.query).items()}
    endpoint = said.get("endpoint_override")
    if endpoint and "://" not in endpoint:
        endpoint = f"{said.get('scheme', 'https')}://{endpoint}"
    # A server of one's own is seldom reached by a host name for each bucket.
    own = endpoint or os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL")
    style = "path" if own else "auto"
    client = botocore.session.get_session().create_client(
        "s3",
        region_name=said.get("region") or region,
        endpoint_url=endpoint,
        aws_access_key_id=unquote(parts.username) if parts.username else None,
        aws_secret_access_key=unquote(parts.password) if parts.password else None,
        config=Config(s3={"addressing_style": style}),
    )
    put = ConditionalPut(client, root)
    try:
        return put if put.is_honoured(folder) else None
    except (BotoCoreError, ClientError):
        return None  # it may lack credentials that pyarrow finds; where both do, pyarrow's error says so
