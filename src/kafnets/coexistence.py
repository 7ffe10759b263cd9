"""TensorFlow and Triton in one process: each brings an LLVM, and it dies if TensorFlow's comes first.

Any optimizer of torch asks for Triton where it is installed, so this can befall people who never heard of it.
"""

import importlib
import importlib.util
import sys
import warnings


def make_room_for_tensorflow() -> None:
    """To be called before TensorFlow is imported: loads Triton now if it is there, which is the good order.

    If TensorFlow is there already, Triton is kept out of this process; torch then does without.
    """
    if sys.modules.get("triton") is not None or importlib.util.find_spec("triton") is None:
        return
    if "tensorflow" in sys.modules:
        keep_triton_out()
    else:
        importlib.import_module("triton")


def keep_triton_out() -> None:
    """If TensorFlow came first, make torch do without Triton rather than die of it; says so once."""
    if "tensorflow" not in sys.modules or "triton" in sys.modules:
        return
    if importlib.util.find_spec("triton") is not None:
        sys.modules["triton"] = None  # type: ignore[assignment] # what `import` takes for "not there"
        warnings.warn(
            "TensorFlow was imported before kafnets, so loading Triton would crash the process: torch runs "
            "without Triton. To use both, import kafnets.keras or triton before tensorflow",
            stacklevel=3,
        )


def obstacle_to_triton() -> str | None:
    """Why Triton cannot be imported in this process; None if it can be, or is."""
    if sys.modules.get("triton") is not None:
        return None
    if "tensorflow" in sys.modules:
        return "TensorFlow was imported first, so Triton would crash the process: import triton before it"
    return None if importlib.util.find_spec("triton") else "the package triton is not installed"
