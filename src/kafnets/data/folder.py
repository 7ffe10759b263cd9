"""Where data lie, and how they get there: checked by hash, written in one go."""

import hashlib
import os
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from kafnets.data.download import SETTING, download
from kafnets.files import make_folder, written_at_once


def data_folder() -> Path:
    """The folder that KAFNETS_DATA names, or the user's cache folder of this platform."""
    named = os.environ.get(SETTING)
    if named:
        return Path(named).expanduser()
    import platformdirs

    return Path(platformdirs.user_cache_dir("kafnets", appauthor=False))


def load_or_make(
    file: str,
    read: Callable[[Path], dict[str, NDArray[np.generic]]],
    *,
    original: str,
    address: str,
    sha256: str | None,
    names: Sequence[str] = ("X", "y"),
) -> dict[str, NDArray[np.generic]]:
    """Arrays from ``file`` in the data folder; else from the original, which is downloaded if it must be.

    Args:
        file: an .npz, the compact form in which we keep it.
        read: makes the arrays from the original file.
        original: its name in the data folder.
        address: where it is to be had.
        sha256: of the original, also if it was put there by hand. None where its publisher gives none: what
            arrives is checked by ``read``.
        names: of the arrays.
    """
    compact = data_folder() / file
    if compact.exists():
        return load_arrays(compact, names)
    from filelock import FileLock

    make_folder(compact.parent)
    with FileLock(data_folder() / f"{original}.lock"):  # runs side by side would all fetch it
        if compact.exists():
            return load_arrays(compact, names)
        source = data_folder() / original
        if not source.exists():
            download(address, source, sha256)
        elif sha256 is not None and (found := _sha256(source)) != sha256:
            raise ValueError(
                f"{source} is not the published file: its SHA-256 is {found}, not {sha256}. Delete it to "
                "have it downloaded"
            )
        arrays = read(source)
        with written_at_once(compact) as temporary, temporary.open("wb") as stream:
            np.savez_compressed(stream, **arrays)  # type: ignore[arg-type]
    return arrays


def _sha256(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def load_arrays(path: Path, names: Sequence[str] = ()) -> dict[str, NDArray[np.generic]]:
    """All arrays of an .npz, which may hold no pickled objects. Those of these names must be there."""
    try:
        with path.open("rb") as stream, np.load(stream, allow_pickle=False) as stored:
            arrays = {name: stored[name] for name in getattr(stored, "files", ())}
    except (ValueError, OSError, EOFError) as error:
        raise ValueError(f"{path} is damaged ({error}): delete it and try again") from error
    except Exception as error:  # zipfile and zlib have errors of their own
        if type(error).__module__ in ("zipfile", "zlib"):
            raise ValueError(f"{path} is damaged ({error}): delete it and try again") from error
        raise
    if missing := [name for name in names if name not in arrays]:
        raise ValueError(
            f"{path} has no array {', '.join(missing)}, only {', '.join(arrays) or 'none'}: delete it and "
            "try again"
        )
    return arrays
