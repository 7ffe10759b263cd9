"""Weights alone, in the safetensors format, with a description of the model in the file's metadata."""

import json
from pathlib import Path
from typing import Any

import torch
from torch import nn

from kafnets import files
from kafnets.packages import needed_by


def export_tensors(model: nn.Module, path: str | Path, *, description: dict[str, Any] | None = None) -> Path:
    """Write a model's parameters and buffers as a .safetensors file, which cannot contain code.

    ``kafnets.mlp(...).load_state_dict(safetensors.torch.load_file(path))`` loads them.

    Args:
        model: any network.
        path: of the file, which is written atomically.
        description: JSON for the metadata, under "description"; None: the model's ``repr``.
    """
    with needed_by("safetensors files"):
        from safetensors.torch import save
    tensors: dict[str, torch.Tensor] = {}
    for name, each in model.state_dict().items():
        tensors[name] = each.detach().cpu().contiguous().clone()  # what is shared is written twice
    text = json.dumps(str(model) if description is None else description, ensure_ascii=False)
    files.write(Path(path), save(tensors, {"description": text, "format": "pt"}))
    return Path(path)
