"""CIFAR-10: 60,000 images of 32 x 32 pixels, 10 classes. Krizhevsky, 2009."""

import tarfile
import zlib
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from kafnets.data.dataset import DataSet
from kafnets.data.folder import load_or_make
from kafnets.data.splits import Part, Splits, digest_of, stratified_rows

ADDRESS = "https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz"
SHA256 = "c4a38c50a1bc5f3a1c5537f2155ab9d68f9f25eb1ed8d9ddda3db29a59bca1dd"
CLASSES = ("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck")
PIXELS = 3 * 32 * 32
DIGESTS = {
    "X_train": "47af8b02cfcfb6cdf3dbbd1969ad7f1b70f4413f6f80f437b020ee4e5bc8304a",
    "y_train": "2b7cd2f24487317614016b72ffd53071c3062f592f0eb300c18a770d41ae1253",
    "X_test": "f9b1e2130bab680db56eb06d886f7f1ad0f1183907ceff4659d1735c890f5b04",
    "y_test": "cec8a24a1e92aa2ecaa0bbd3dbfa86bf6cd8759fbd209a832824c8cf0afca9d5",
}
"""SHA-256 of the arrays as bytes."""


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
        original="cifar-10-binary.tar.gz",
        address=ADDRESS,
        sha256=SHA256,
        names=tuple(DIGESTS),
    )
    for name, digest in DIGESTS.items():
        if digest_of(arrays[name].astype(np.uint8)) != digest:
            raise ValueError(f"{name} of cifar10.npz is not the published data: delete it and try again")
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
    """The published archive of bytes: for each image its class, then its pixels in red, green and blue."""
    batches = [*(f"data_batch_{number}" for number in range(1, 6)), "test_batch"]
    try:
        with tarfile.open(path) as archive:
            contents = [_member(archive, f"cifar-10-batches-bin/{name}.bin", path) for name in batches]
    except (tarfile.TarError, EOFError, zlib.error, OSError) as error:
        raise ValueError(f"{path} is truncated or damaged ({error}): download it again") from error
    train, test = b"".join(contents[:-1]), contents[-1]
    found: dict[str, NDArray[np.generic]] = {}
    for part, content in (("train", train), ("test", test)):
        if not content or len(content) % (1 + PIXELS):
            raise ValueError(
                f"{path}: its {part} part of {len(content)} bytes does not consist of whole images"
            )
        rows = np.frombuffer(content, np.uint8).reshape(-1, 1 + PIXELS)
        images = rows[:, 1:].reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1)
        found |= {f"X_{part}": np.ascontiguousarray(images), f"y_{part}": rows[:, 0].astype(np.int64)}
    return found


def _member(archive: tarfile.TarFile, name: str, path: Path) -> bytes:
    try:
        stream = archive.extractfile(name)
    except KeyError:
        stream = None
    if stream is None:
        raise ValueError(f"{path} has no {name}: it is not the binary version of CIFAR-10")
    return stream.read()


SETS = (
    DataSet(
        "cifar10",
        load,
        60_000,
        "images of 32 x 32 pixels, 10 classes",
        "not stated by its authors",
        "Krizhevsky, Learning Multiple Layers of Features from Tiny Images, 2009",
        fixed_test=True,
    ),
)
