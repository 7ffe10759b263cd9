"""Checks of arguments that many rooms share."""

from numbers import Integral


def check_integer(name: str, value: object, least: int = 1) -> None:
    """Raise unless ``value`` is an integer of at least ``least``; NumPy's will do."""
    if not isinstance(value, Integral) or isinstance(value, bool) or int(value) < least:
        raise ValueError(f"{name} must be an integer ≥ {least}, got {value!r}")
