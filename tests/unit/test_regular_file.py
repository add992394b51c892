"""Files in places that others may have prepared."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from rvsim.host.regular_file import is_own_file, read_regular


def test_a_regular_file_is_read(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"12345")
    assert read_regular(path, 5, own=True) == b"12345"
    assert is_own_file(path)
    with pytest.raises(OSError, match="more than 4 bytes"):
        read_regular(path, 4)


def test_what_is_none_is_refused_at_once(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"x")
    (tmp_path / "link").symlink_to(tmp_path / "file")
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    os.mkfifo(tmp_path / "pipe")
    for name in ("link", "loop", "pipe", "absent", "", "/dev/zero"):
        with pytest.raises(OSError, match=r".+"):
            read_regular(tmp_path / name, 100)
        assert not is_own_file(tmp_path / name)


def test_the_file_of_another_user_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"x")
    monkeypatch.setattr(os, "getuid", lambda: path.stat().st_uid + 1)
    assert not is_own_file(path)
    assert read_regular(path, 1) == b"x"
    with pytest.raises(PermissionError, match="another user"):
        read_regular(path, 1, own=True)
