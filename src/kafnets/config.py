"""Descriptions that can be stored: what Keras asks of an object, and anyone else may."""

from dataclasses import fields
from typing import Any, Self


class Configurable:
    """A dataclass that can be told by plain values."""

    def get_config(self) -> dict[str, Any]:
        """The values to make it again from."""
        return {each.name: getattr(self, each.name) for each in fields(self)}  # type: ignore[arg-type]

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Self:
        """The one with these values."""
        return cls(**config)
