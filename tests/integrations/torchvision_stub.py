"""What timm imports of torchvision, for machines where that cannot be installed: names without a meaning.

Timm's models and layers run without them; only its transforms of images do not.
"""

import importlib.machinery
import sys
from types import ModuleType
from typing import Any


def _made_up(_: object, name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    return _Anything(name, (), {})


class _Anything(type):
    """Classes with any attributes."""

    __getattr__ = _made_up


class _Stub(ModuleType):
    __getattr__ = _made_up


class _Finder:
    def find_spec(self, name: str, path: object = None, target: object = None) -> Any:
        if name.split(".")[0] != "torchvision":
            return None
        return importlib.machinery.ModuleSpec(name, self, is_package=True)  # type: ignore[arg-type]

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        return _Stub(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        pass


sys.meta_path.append(_Finder())
