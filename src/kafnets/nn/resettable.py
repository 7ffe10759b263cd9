"""Modules that are complete also where a checkpoint lacks their values."""

from typing import Any

import torch
from torch import nn


class Resettable(nn.Module):
    """A module that initializes parameters which ``from_pretrained`` of transformers did not find.

    Transformers builds models on the meta device. What a checkpoint lacks, and all buffers that are not
    stored, then become uninitialized memory; the model's ``_init_weights`` is called, which does not know
    modules of other packages; and ``_is_hf_initialized`` is set on every module. Parameters and buffers that
    were loaded carry the same attribute. So this is where the others are set, and where what was loaded is
    checked as ``load_state_dict`` does.
    """

    def __init__(self) -> None:
        super().__init__()
        self._built_on_meta = torch.empty(0).is_meta

    @property
    def _is_hf_initialized(self) -> bool:
        return bool(self.__dict__.get("_complete", False))

    @_is_hf_initialized.setter
    def _is_hf_initialized(self, complete: bool) -> None:
        if complete and self._built_on_meta:
            self._set_missing()
        self.__dict__["_complete"] = complete

    def _set_missing(self) -> None:
        own: dict[str, Any] = self.state_dict(keep_vars=True)
        if any(each.is_meta for each in own.values()):
            return
        loaded = {
            name: each.detach().clone()
            for name, each in own.items()
            if getattr(each, "_is_hf_initialized", False)
        }
        if callable(reset := getattr(self, "reset_parameters", None)):
            reset()
        self.load_state_dict(loaded, strict=False)
        self._built_on_meta = False
