"""What the shell suggests for names of activations and data sets."""

from collections.abc import Iterable


def activation_names(incomplete: str) -> list[str]:
    """Of a comma-separated list, the last name."""
    from kafnets import registry

    return _last_of_list(incomplete, registry.names())


def data_names(incomplete: str) -> list[str]:
    """Likewise."""
    from kafnets import data

    return _last_of_list(incomplete, data.SETS)


def _last_of_list(incomplete: str, names: Iterable[str]) -> list[str]:
    before, comma, begun = incomplete.rpartition(",")
    return [before + comma + name for name in names if name.startswith(begun)]
