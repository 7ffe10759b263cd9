"""Measurements in benchmarks/results, which several processes may add to."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from filelock import FileLock

from kafnets.files import written_at_once


def read(path: Path) -> dict[str, Any]:
    """What is stored; nothing if there is no file."""
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    return found


@contextmanager
def changing(path: Path) -> Iterator[dict[str, Any]]:
    """What is stored now, to be changed in place; written when the block ends. Others wait so long."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(path.with_name(f".{path.name}.lock")):
        found = read(path)
        yield found
        with written_at_once(path) as temporary:
            temporary.write_text(json.dumps(found, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
