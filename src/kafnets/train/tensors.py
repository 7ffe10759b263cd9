"""Reading tensors from files that anybody may have sent."""

import io
from pathlib import Path
from typing import Any

import torch


def load_tensors(path: Path, content: bytes | None = None, **options: Any) -> Any:
    """What ``torch.save`` has written; only tensors and plain values are unpickled, never code.

    Args:
        path: of the file.
        content: of the file, if it has been read.
        options: of ``torch.load``.
    """
    source = path if content is None else io.BytesIO(content)
    try:
        return torch.load(source, weights_only=True, **options)
    except OSError:
        raise
    except Exception as error:  # torch passes on whatever its readers stumble over
        raise ValueError(
            f"{path} holds no tensors saved by kafnets: it is damaged or another kind of file. Delete it, "
            f"or copy it again"
        ) from error
