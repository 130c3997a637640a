"""Where a secret comes from."""

from __future__ import annotations

from pathlib import Path

import pytest

from dovetail.errors import SettingError
from dovetail.secret import secret


def test_environment_then_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOVETAIL_SECRETS", str(tmp_path))
    (tmp_path / "kafka-password").write_text("from file\n")
    assert secret("kafka-password") == "from file"
    monkeypatch.setenv("DOVETAIL_SECRET_KAFKA_PASSWORD", "from environment")
    assert secret("kafka-password") == "from environment"


def test_a_missing_secret_says_where_it_could_be(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOVETAIL_SECRETS", str(tmp_path))
    with pytest.raises(SettingError, match="no secret nothing") as missing:
        secret("nothing")
    assert "DOVETAIL_SECRET_NOTHING" in str(missing.value)
    assert str(tmp_path / "nothing") in str(missing.value)
