"""Files that tasks leave for people, confined to one directory.

A name is one plain component; the file is written beside its place and renamed, so a reader never meets half
of it, and a symbolic link of that name is replaced, not followed.
"""

from __future__ import annotations

import os
import secrets
from pathlib import Path

from scheduler_app.errors import SchedulerError

MAX_ARTIFACT_BYTES = 1024 * 1024
MAX_NAME_BYTES = 200


def write_artifact(directory: Path, filename: str, content: bytes) -> Path:
    """Write `content` under `directory`, return the path. Raises SchedulerError when it cannot."""
    _refuse_bad_name(filename)
    if len(content) > MAX_ARTIFACT_BYTES:
        raise SchedulerError(
            f"{filename} would have {len(content):,} bytes; at most {MAX_ARTIFACT_BYTES:,} (1 MiB)."
        )
    try:
        directory.mkdir(parents=True, exist_ok=True)
        folder = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
        try:
            _write_beside_and_rename(folder, filename, content)
        finally:
            os.close(folder)
    except OSError as error:
        raise SchedulerError(f"{filename} cannot be written to {directory}: {error.strerror}.") from error
    return directory / filename


def _refuse_bad_name(filename: str) -> None:
    plain = filename and not filename.startswith(".") and not set(filename) & set("/\\\x00")
    if not plain or len(filename.encode(errors="replace")) > MAX_NAME_BYTES:
        raise SchedulerError(
            f"{filename[:80]!r} is refused as file name: give a plain name of at most {MAX_NAME_BYTES} bytes"
            " without / or \\ that does not begin with a dot."
        )


def _write_beside_and_rename(folder: int, filename: str, content: bytes) -> None:
    beside = f".{secrets.token_hex(8)}.part"
    handle = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o644, dir_fd=folder)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.rename(beside, filename, src_dir_fd=folder, dst_dir_fd=folder)
    except OSError:
        os.unlink(beside, dir_fd=folder)
        raise
