"""Run folders, whose files stay consistent if the process is killed at any time.

A folder holds ``config.json``, ``checkpoint.pt`` while it runs, then ``model.pt``, ``shapes.npz``,
``report.json`` and last of all ``DONE``. Every file is written atomically. A checkpoint contains its own
SHA-256; the marker contains those of the other files. The weights may be deleted to save space; the run still
counts as finished.
"""

import hashlib
import io
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from kafnets import files
from kafnets.train.tensors import load_tensors

CONFIG, CHECKPOINT, MODEL, SHAPES, REPORT, DONE = (
    "config.json",
    "checkpoint.pt",
    "model.pt",
    "shapes.npz",
    "report.json",
    "DONE",
)

NOT_A_FILE = (FileNotFoundError, IsADirectoryError, NotADirectoryError)


class RunFolder:
    """One run's folder."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def begin(self, config: dict[str, Any]) -> None:
        """Write the config, or make sure that it is the one that is there."""
        files.remove_temporary(self.path)
        if self._json(CONFIG) is None:
            self._write(CONFIG, _as_json(config))
        self.refuse_other(config)

    def refuse_other(self, config: dict[str, Any]) -> None:
        """Raise an error unless the stored run has this config."""
        stored, wanted = self._json(CONFIG) or {}, json.loads(_as_json(config))
        changed = [
            f"{key}: {stored.get(key, 'nothing')} stored, {wanted.get(key, 'nothing')} requested"
            for key in sorted({*stored, *wanted})
            if stored.get(key) != wanted.get(key)
        ]
        if changed:
            raise ValueError(
                f"{self.path} holds a run with different settings ({'; '.join(changed)}): choose another "
                "folder, or delete it"
            )

    @contextmanager
    def locked(self) -> Iterator[bool]:
        """Whether no other process works here; for as long as the block runs, if so."""
        from filelock import FileLock, Timeout

        files.make_folder(self.path)
        lock = FileLock(self.path / ".lock")
        try:
            lock.acquire(blocking=False)
        except Timeout:
            yield False
            return
        try:
            yield True
        finally:
            lock.release()

    @property
    def damaged(self) -> bool:
        """Whether it was finished, but its files are no longer what they were then."""
        return (self.path / DONE).exists() and not self.done

    @property
    def done(self) -> bool:
        """Whether it was finished, and its files are still what they were then."""
        marker = self._json(DONE)
        if marker is None:
            return False
        digests = marker.get("sha256")
        return isinstance(digests, dict) and all(
            _digest_of(self.path / name) == digests.get(name, "none") for name in (CONFIG, SHAPES, REPORT)
        )

    def adopt(self, other: "RunFolder", config: dict[str, Any], of_other: dict[str, Any]) -> bool:
        """Copy a run that was finished under another name, if there is one with the same settings.

        Args:
            other: its folder.
            config: of this run, which names settings as they are called here.
            of_other: the same settings as they are called there.
        """
        if not other.done or other.config() != json.loads(_as_json(of_other)):
            return False
        self.begin(config)
        for path in (other.path / name for name in (MODEL, SHAPES, REPORT)):
            if path.is_file():  # weights may have been deleted
                self._write(path.name, path.read_bytes())
        digests = other._there(DONE)["sha256"] | {CONFIG: _digest_of(self.path / CONFIG)}
        self._mark_done(digests)
        return True

    def save_checkpoint(self, state: dict[str, Any]) -> None:
        """After each epoch."""
        content = _saved(state)
        self._write(CHECKPOINT, hashlib.sha256(content).digest() + content)

    def load_checkpoint(self) -> dict[str, Any] | None:
        """The last one, or None if there is none that can be trusted."""
        try:
            content = (self.path / CHECKPOINT).read_bytes()
        except NOT_A_FILE:
            return None
        digest, content = content[:32], content[32:]
        if hashlib.sha256(content).digest() != digest:
            return None
        state: dict[str, Any] = load_tensors(self.path / CHECKPOINT, content)
        return state

    def finish(
        self,
        report: dict[str, Any],
        weights: dict[str, Any],
        shapes: Mapping[str, NDArray[np.generic]],
    ) -> None:
        """Write the results and, when they are all there, the marker; then the checkpoint has had its day."""
        self._write(MODEL, _saved(weights))
        stream = io.BytesIO()
        np.savez_compressed(stream, **shapes)  # type: ignore[arg-type]
        self._write(SHAPES, stream.getvalue())
        self._write(REPORT, _as_json(report))
        self._mark_done({name: _digest_of(self.path / name) for name in (CONFIG, MODEL, SHAPES, REPORT)})

    def _mark_done(self, digests: dict[str, str | None]) -> None:
        self._write(DONE, _as_json({"sha256": digests}))
        (self.path / CHECKPOINT).unlink(missing_ok=True)

    def config(self) -> dict[str, Any]:
        """What was asked for."""
        return self._there(CONFIG)

    def report(self) -> dict[str, Any]:
        """Of a finished run."""
        return self._there(REPORT)

    def shapes(self) -> dict[str, NDArray[np.float16]]:
        """Of a finished run: what its activations looked like."""
        with np.load(self.path / SHAPES, allow_pickle=False) as stored:
            return dict(stored)

    def _there(self, name: str) -> dict[str, Any]:
        found = self._json(name)
        if found is None:
            raise FileNotFoundError(f"{self.path} has no {name}: the run is not finished")
        return found

    def weights(self) -> dict[str, Any]:
        """Of a finished run: the best ones. Tensors by name; of a policy, with what it normalizes by."""
        marker = self._json(DONE)
        if marker is None:
            raise ValueError(f"{self.path} has no finished run: finish it first")
        digests = marker.get("sha256")
        if not isinstance(digests, dict) or _digest_of(self.path / MODEL) != digests.get(MODEL, "none"):
            raise ValueError(
                f"{self.path / MODEL} is missing or was changed: delete {self.path / DONE} and run again"
            )
        state: dict[str, Any] = load_tensors(self.path / MODEL)
        return state

    def _json(self, name: str) -> dict[str, Any] | None:
        try:
            found = json.loads((self.path / name).read_text(encoding="utf-8"))
        except (*NOT_A_FILE, ValueError, RecursionError):
            return None
        return found if isinstance(found, dict) else None

    def _write(self, name: str, content: bytes) -> None:
        files.write(self.path / name, content)


def _as_json(content: dict[str, Any]) -> bytes:
    return (json.dumps(content, indent=2, ensure_ascii=False) + "\n").encode()


def _saved(state: dict[str, Any]) -> bytes:
    stream = io.BytesIO()
    torch.save(state, stream)
    return stream.getvalue()


def _digest_of(path: Path) -> str | None:
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except NOT_A_FILE:
        return None
