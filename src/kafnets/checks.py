"""Checks of arguments that many rooms share."""

import difflib
import math
from collections.abc import Iterable
from numbers import Integral, Real
from typing import TypeGuard


def is_number(value: object) -> TypeGuard[float]:
    """Whether it is a finite number: NumPy's too, but not a boolean or text."""
    return isinstance(value, Real) and not isinstance(value, bool) and math.isfinite(value)


def check_integer(name: str, value: object, least: int = 1) -> None:
    """Raise unless ``value`` is an integer of at least ``least``; NumPy integers are accepted."""
    if not isinstance(value, Integral) or isinstance(value, bool) or int(value) < least:
        raise ValueError(f"{name} must be an integer ≥ {least}, got {value!r}")


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """A question to end a message with, or go on from; nothing if no known name is near."""
    known = list(known)
    same = [each for each in known if each.lower() == name.lower()]
    near = same or difflib.get_close_matches(name, known, n=1)
    return f"did you mean {near[0]!r}? " if near else ""
