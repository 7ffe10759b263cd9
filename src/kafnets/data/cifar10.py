"""CIFAR-10: 60,000 images of 32 x 32 pixels, 10 classes. Krizhevsky, 2009."""

import pickletools
import tarfile
import zlib
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from kafnets.data.folder import load_or_make
from kafnets.data.splits import Part, Splits, digest_of, stratified_rows

ADDRESS = "https://www.cs.toronto.edu/~kriz/cifar-10-python.tar.gz"
SHA256 = "6d958be074577803d12ecdefd02955f39262c83c16fe9348329d7fe0b5c001ce"
CLASSES = ("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck")
PIXELS = 3 * 32 * 32


def load(seed: int = 0, scaling: str = "range") -> Splits:
    """The official test images; a tenth of the others, at random by the seed, for validation.

    Images are ``(3, 32, 32)``, their values linearly from [0, 255] to [-1, 1]: there is no other
    scaling of them.
    """
    if scaling != "range":
        raise ValueError(f"scaling must be 'range' for images, got {scaling!r}")
    arrays = load_or_make(
        "cifar10.npz",
        read_original,
        original="cifar-10-python.tar.gz",
        address=ADDRESS,
        sha256=SHA256,
        names=("X_train", "y_train", "X_test", "y_test"),
    )
    images, target = arrays["X_train"], arrays["y_train"].astype(np.int64)
    train, validation, rest = stratified_rows(target, (0.9, 0.1, 0.0), np.random.default_rng(seed))
    train = np.concatenate([train, rest])
    return Splits(
        "cifar10",
        "multiclass",
        Part(_scaled(images[train]), target[train]),
        Part(_scaled(images[validation]), target[validation]),
        Part(_scaled(arrays["X_test"]), arrays["y_test"].astype(np.int64)),
        classes=CLASSES,
        digest=digest_of(images, arrays["X_test"]),
    )


def _scaled(images: NDArray[np.generic]) -> NDArray[np.float32]:
    """From (N, 32, 32, 3) bytes.

    Seen as (N, 3, 32, 32), yet a pixel's colors stay side by side in memory, torch's "channels last",
    in which processors pool and convolve faster.
    """
    scaled = images.astype(np.float32) / np.float32(127.5) - np.float32(1)
    return scaled.transpose(0, 3, 1, 2)


def read_original(path: Path) -> dict[str, NDArray[np.generic]]:
    """The published archive. Its batches are pickles, which are read as lists of operations, never run."""
    batches = [f"cifar-10-batches-py/data_batch_{i}" for i in range(1, 6)]
    try:
        with tarfile.open(path) as archive:
            contents = [_member(archive, name, path) for name in [*batches, "cifar-10-batches-py/test_batch"]]
    except (tarfile.TarError, EOFError, zlib.error, OSError) as error:
        raise ValueError(f"{path} is cut short or damaged ({error}): download it again") from error
    found = [_images_and_labels(content, path) for content in contents]
    return {
        "X_train": np.concatenate([images for images, _ in found[:-1]]),
        "y_train": np.concatenate([labels for _, labels in found[:-1]]),
        "X_test": found[-1][0],
        "y_test": found[-1][1],
    }


def _member(archive: tarfile.TarFile, name: str, path: Path) -> bytes:
    try:
        stream = archive.extractfile(name)
    except KeyError:
        stream = None
    if stream is None:
        raise ValueError(f"{path} has no {name}: it is not the python version of CIFAR-10")
    return stream.read()


def _images_and_labels(pickled: bytes, path: Path) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    pixels, labels, key = b"", list[int](), ""
    for operation, argument, _ in pickletools.genops(pickled):
        if isinstance(argument, str | bytes):
            raw = argument.encode("latin-1") if isinstance(argument, str) else argument
            if len(raw) > len(pixels):
                pixels = raw
            key = raw.decode("latin-1") if len(raw) < 100 else key
        elif operation.name in ("BININT1", "BININT", "BININT2") and key == "labels":
            assert isinstance(argument, int)
            labels.append(argument)
    if len(pixels) % PIXELS or not labels or len(pixels) // PIXELS != len(labels):
        raise ValueError(f"{path}: a batch holds {len(pixels)} bytes of images and {len(labels)} labels")
    images = np.frombuffer(pixels, np.uint8).reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1)
    return np.ascontiguousarray(images), np.array(labels, np.int64)
