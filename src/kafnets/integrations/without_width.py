"""Which activations libraries can make that do not tell a number of features."""

import inspect

from kafnets.registry import Factory, declared_by, facts_of, find, own_names


def without_width() -> dict[str, Factory]:
    """By name, the activations that libraries can make without telling them a number of features.

    One function then serves all channels of a layer. Left out are those that change the number of channels
    or bring a linear map.
    """
    factories = {name: find(name) for name in own_names() if facts_of(name).plottable}
    return {
        name: factory
        for name, factory in factories.items()
        if declared_by(factory).arity == 1
        and inspect.signature(factory).parameters["num_features"].default is not inspect.Parameter.empty
        and getattr(factory(4), "out_features", 4) == 4
    }
