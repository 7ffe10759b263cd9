"""Files that are written whole or not at all."""

import json
import math
import os
import re
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

_TEMPORARY = re.compile(r"\..+\.[0-9a-f]{32}(\.\w+)?")


@contextmanager
def written_at_once(path: Path) -> Iterator[Path]:
    """A temporary path beside ``path`` that takes its place if all went well, and vanishes if not.

    A link at ``path`` is replaced, not followed.
    """
    make_folder(path.parent)
    if path.is_dir() and not path.is_symlink():
        raise IsADirectoryError(f"{path} is a folder, but a file is to be written there: remove it")
    temporary = path.with_name(f".{path.stem}.{uuid.uuid4().hex}{path.suffix}")
    try:
        yield temporary
        with temporary.open("rb+") as stream:
            os.fsync(stream.fileno())
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def make_folder(folder: Path) -> None:
    """Make it, with those that it is in, unless it is there."""
    for each in (folder, *folder.parents):
        if each.is_symlink() or each.exists():
            if not each.is_dir():
                what = "a file" if each.exists() else "a broken link"
                raise NotADirectoryError(f"{each} is {what}, but a folder is needed there: choose another")
            break
    folder.mkdir(parents=True, exist_ok=True)


def write(path: Path, content: str | bytes) -> None:
    """Write text, as UTF-8, or bytes."""
    with written_at_once(path) as temporary:
        temporary.write_bytes(content.encode() if isinstance(content, str) else content)


def as_json(content: Any) -> str:
    """Text of several lines. NaN and infinite numbers, which JSON does not know, are null."""
    return json.dumps(_finite(content), indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def _finite(content: Any) -> Any:
    if isinstance(content, dict):
        return {str(key): _finite(value) for key, value in content.items()}
    if isinstance(content, list | tuple):
        return [_finite(value) for value in content]
    return None if isinstance(content, float) and not math.isfinite(content) else content


def remove_temporary(folder: Path) -> None:
    """Remove what a process that was killed while it wrote into this folder has left there.

    Nobody else may be writing there.
    """
    for path in folder.glob(".*"):
        if _TEMPORARY.fullmatch(path.name):
            path.unlink(missing_ok=True)
