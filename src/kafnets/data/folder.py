"""Where data lie, and how they get there: checked by hash, written in one go."""

import os
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from kafnets.data.download import SETTING, download


def data_folder() -> Path:
    """The folder that KAFNETS_DATA names, or the user's cache folder of this platform."""
    named = os.environ.get(SETTING)
    if named:
        return Path(named).expanduser()
    import platformdirs

    return Path(platformdirs.user_cache_dir("kafnets", appauthor=False))


@contextmanager
def written_at_once(path: Path) -> Iterator[Path]:
    """A temporary path beside ``path`` that takes its place if all went well, and vanishes if not."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.stem}.{uuid.uuid4().hex}{path.suffix}")
    try:
        yield temporary
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def load_or_make(
    file: str,
    read: Callable[[Path], dict[str, NDArray[np.generic]]],
    *,
    original: str,
    address: str,
    sha256: str | None,
) -> dict[str, NDArray[np.generic]]:
    """Arrays from ``file`` in the data folder; else from the original, which is downloaded if it must be.

    Args:
        file: an .npz, the compact form in which we keep it.
        read: makes the arrays from the original file.
        original: its name in the data folder.
        address: where it is to be had.
        sha256: of the original. None where its publisher gives none: what arrives is checked by ``read``.
    """
    compact = data_folder() / file
    if compact.exists():
        return load_arrays(compact)
    from filelock import FileLock

    compact.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(data_folder() / f"{original}.lock"):  # runs side by side would all fetch it
        if compact.exists():
            return load_arrays(compact)
        source = data_folder() / original
        if not source.exists():
            download(address, source, sha256)
        arrays = read(source)
        with written_at_once(compact) as temporary, temporary.open("wb") as stream:
            np.savez_compressed(stream, **arrays)  # type: ignore[arg-type]
    return arrays


def load_arrays(path: Path) -> dict[str, NDArray[np.generic]]:
    """All arrays of an .npz, which may hold no pickled objects."""
    try:
        with path.open("rb") as stream, np.load(stream, allow_pickle=False) as stored:
            return {name: stored[name] for name in stored.files}
    except (ValueError, OSError, EOFError) as error:
        raise ValueError(f"{path} is damaged ({error}): delete it and try again") from error
    except Exception as error:  # zipfile and zlib have errors of their own
        if type(error).__module__ in ("zipfile", "zlib"):
            raise ValueError(f"{path} is damaged ({error}): delete it and try again") from error
        raise
