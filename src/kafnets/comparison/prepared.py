"""Divided and scaled rows, one file per seed, which all processes map into memory."""

import json
from dataclasses import fields
from pathlib import Path
from typing import Any

import torch

from kafnets import files
from kafnets.data.encoding import Encoding
from kafnets.data.scaling import described
from kafnets.data.splits import Part, Splits
from kafnets.train.tensors import load_tensors

PARTS = ("train", "validation", "test")


def path_of(folder: Path, seed: int) -> Path:
    """Where the division by a seed is."""
    return folder / f"seed-{seed}.pt"


def save(splits: Splits, path: Path) -> None:
    """Write all that :func:`load` needs: tensors and text."""
    about = {each.name: getattr(splits, each.name) for each in fields(splits) if each.name not in PARTS}
    about |= {name: about[name] and about[name].describe() for name in ("scaling", "encoding")}
    content: dict[str, Any] = {"about": json.dumps(about)}
    for name in PARTS:
        part: Part = getattr(splits, name)
        content[name] = [torch.from_numpy(part.features), torch.from_numpy(part.target)]
    with files.written_at_once(path) as temporary:
        torch.save(content, temporary)


def load(path: Path) -> Splits:
    """The same splits, bit by bit; pages of the file are read when they are used, and shared."""
    content = load_tensors(path, mmap=True)
    about: dict[str, Any] = json.loads(content.pop("about"))
    scaling, encoding = about.pop("scaling"), about.pop("encoding")
    about |= {name: tuple(value) for name, value in about.items() if isinstance(value, list)}
    about |= {name: Part(*(each.numpy() for each in content[name])) for name in PARTS}
    return Splits(
        **about, scaling=scaling and described(scaling), encoding=encoding and Encoding.described(encoding)
    )
