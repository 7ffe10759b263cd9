"""The registry of activations: every name stands for a class, which declares its facts."""

import ast
import functools
import importlib
import importlib.metadata
import inspect
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

from torch import nn

from kafnets.checks import did_you_mean

Factory = Callable[..., nn.Module]
"""Makes an activation from the number of features, and options by keyword."""

F = TypeVar("F", bound=Factory)


@dataclass(frozen=True)
class Facts:
    """Properties of an activation, as in Table 1 of the paper. Declared on its class as ``facts``.

    Args:
        family: the page of the documentation it is on.
        source: who proposed it.
        formula: in one line of plain text.
        parameters: parameters per neuron, an expression in the module's attributes such as
            ``"2 * segments"``; a neuron is one input feature or, for a layer that contains a linear map, one
            output feature.
        smooth: whether its derivative is continuous, at its default options.
        local: whether a parameter affects a small part of the line ("yes"), half of it ("partially"), or all
            of it ("no"). None if there are no parameters.
        regularization: "yes"; "l2" if only an l2 penalty applies; "own" if it has its own penalty instead of
            weight decay; "no" if weight decay does not apply. None if there are no parameters.
        plottable: whether its neurons are functions of one or two inputs.
        arity: the number of inputs of one of its functions.
        hyperparameter: the option that sets its flexibility.
        owns_linear: whether it is a layer that contains its linear map, and therefore takes ``in_features``
            as well.
        alpha_dropout: whether dropout next to it should be ``nn.AlphaDropout``.
    """

    family: str
    source: str = ""
    formula: str = ""
    parameters: str = "0"
    smooth: bool | None = None
    local: Literal["yes", "partially", "no"] | None = None
    regularization: Literal["yes", "l2", "own", "no"] | None = None
    plottable: bool = False
    arity: int = 1
    hyperparameter: str | None = None
    owns_linear: bool = False
    alpha_dropout: bool = False


_UNDECLARED = Facts(family="other", parameters="?")
_SHARED_ARGUMENTS = {
    "num_features": "N, the number of channels along ``dim``; 1: one function for any number of channels.",
    "groups": "the number of functions, each shared by N / groups neighboring channels. None: N.",
    "dim": "the channel axis.",
    "inplace": "accepted and ignored, for libraries that pass it to every activation.",
    "generator": "for random initial values; None: torch's default one.",
    "device": "of the parameters.",
    "dtype": "of the parameters.",
}
"""Arguments that most activations take, as docstrings describe them."""
_COMMON = {"self", "in_features", "linear", *_SHARED_ARGUMENTS}
_registered: dict[str, Factory] = {}
_OWN = ("kafnets.nn", "kafnets.zoo")
"""What registers the package's own activations, imported when the first name is asked for."""


@functools.cache
def _load_own() -> None:
    for module in _OWN:
        importlib.import_module(module)


def register(name: str) -> Callable[[F], F]:
    """Register a custom activation under a name, which then works everywhere in this package.

    Decorate a class, or a function that creates a module, whose first argument is the number of features::

        @kafnets.register("sine")
        class Sine(nn.Module):
            def __init__(self, num_features):
                super().__init__()

            def forward(self, s):
                return torch.sin(s)

    If it also takes ``dim`` (the channel axis) or ``generator``, builders pass them. Declare ``facts`` on it
    to describe it in ``kafnets list``; give its modules ``out_features`` if they change the number of
    features.
    """
    if not name.isidentifier() or name != name.lower():
        raise ValueError(f"name must be lower-case letters, digits and underscores, got {name!r}")

    def enter(factory: F) -> F:
        if not _origin(factory).startswith("kafnets."):
            _load_own()  # so that a name that is taken is known to be
        if not callable(factory):
            raise TypeError(f"{name!r} must stand for a class or a function, got {factory!r}")
        known = _registered.get(name)
        if known is not None and known is not factory and not _same_source(known, factory):
            raise ValueError(f"the name {name!r} is taken by {_origin(known)}: choose another")
        _registered[name] = factory
        if _origin(factory).startswith("kafnets."):
            _complete_docstring(factory, name)
        return factory

    return enter


def _complete_docstring(factory: Factory, name: str) -> None:
    """Add shared arguments, source and example to the docstring of an activation of this package."""
    if factory.__doc__ and "Source:" not in factory.__doc__:
        text, start, arguments = inspect.cleandoc(factory.__doc__).partition("Args:\n")
        if start:
            own, *rest = arguments.split("\n\n", 1)
            entries = {each.split(":")[0].strip(): each for each in re.split(r"\n(?= {4}\w)", own)}
            shared = {each: f"    {each}: {told}" for each, told in _SHARED_ARGUMENTS.items()}
            known = {**shared, **entries}
            ordered = [known[each] for each in inspect.signature(factory).parameters if each in known]
            text = "\n\n".join([text + start + "\n".join(ordered), *rest])
        factory.__doc__ = (
            f"{text}\n\nSource: {declared_by(factory).source}.\n\n"
            f"Example:\n    >>> net = kafnets.mlp(8, (16,), 1, {name!r})\n"
            "    >>> net(torch.randn(5, 8)).shape\n    torch.Size([5, 1])\n"
        )


def names(family: str | None = None) -> list[str]:
    """All names, or those of one family, in the order of registration.

    >>> kafnets.names("splines")
    ['saf']
    """
    _load_own()
    families = {name: facts_of(name).family for name in _registered}
    if family is not None and family not in families.values():
        raise ValueError(
            f"family must be one of {', '.join(dict.fromkeys(families.values()))}, got {family!r}"
        )
    return [name for name, own in families.items() if family in (None, own)]


SYNONYMS = {"silu": "swish"}
"""Names that other packages use, for those who look for them."""


def own_names() -> list[str]:
    """The names that this package registers."""
    _load_own()
    return [name for name, factory in _registered.items() if _origin(factory).startswith("kafnets.")]


def find(name: str) -> Factory:
    """What a name stands for, or a name with options: ``kaf(base=silu,tails=linear)``."""
    _load_own()
    called, parenthesis, rest = name.partition("(")
    if called not in _registered:
        other = (
            f"it is {SYNONYMS[called]!r} here; " if called in SYNONYMS else did_you_mean(called, _registered)
        )
        raise ValueError(
            f"no activation is called {called!r}: {other}kafnets.names(), or `kafnets list`, gives all names"
        )
    if not parenthesis:
        return _registered[called]
    return functools.partial(_registered[called], **_options_in(rest, name, options_of(called)))


def _options_in(rest: str, name: str, known: dict[str, Any]) -> dict[str, Any]:
    """What is between the parentheses of a name, which :func:`find` hands over without the first one."""
    example = "such as kaf(base=silu,tails=linear)"
    if not rest.endswith(")"):
        raise ValueError(f"activation {name!r} must end with a parenthesis, {example}")
    found: dict[str, Any] = {}
    for each in filter(None, map(str.strip, rest[:-1].split(","))):
        option, _, value = map(str.strip, each.partition("="))
        if not re.fullmatch(r"[\w.+-]+", value) or option in found:
            raise ValueError(
                f"activation {name!r} must give each option once, as a number or a word, {example}: "
                f"got {each!r}"
            )
        if option not in known:
            raise ValueError(
                f"activation {name!r} has no option {option!r}: it takes {', '.join(known) or 'no options'}"
            )
        try:
            found[option] = ast.literal_eval(value)
        except (ValueError, SyntaxError):
            found[option] = value
    return found


def facts_of(name: str) -> Facts:
    """What its class declares; nothing, for one that declares nothing."""
    return declared_by(find(name))


def declared_by(factory: Factory) -> Facts:
    """The facts on a class, also through ``functools.partial``; nothing, if there are none."""
    while isinstance(factory, functools.partial):
        factory = factory.func
    facts: Facts = getattr(factory, "facts", _UNDECLARED)
    return facts


def load_plugins() -> None:
    """Import what installed packages have put into the entry-point group ``kafnets.activations``."""
    for entry in importlib.metadata.entry_points(group="kafnets.activations"):
        entry.load()


def options_of(name: str) -> dict[str, Any]:
    """Its own options, beyond those that most activations take, with their defaults."""
    parameters = inspect.signature(find(name)).parameters.values()
    return {
        each.name: None if each.default is each.empty else each.default
        for each in parameters
        if each.name not in _COMMON and each.kind in (each.POSITIONAL_OR_KEYWORD, each.KEYWORD_ONLY)
    }


def create(name: str, num_features: int, **options: Any) -> nn.Module:
    """Create an activation by name.

    Args:
        name: one of :func:`names`.
        num_features: N, the number of input channels. For a layer that contains its linear map (the maxout
            family), the number of outputs, and ``in_features`` is the number of inputs.
        options: arguments of its class.

    Example:
        >>> kafnets.create("apl", 300, segments=5, dim=-1)(torch.randn(2, 7, 300)).shape
        torch.Size([2, 7, 300])
    """
    return make(find(name), num_features, options, called=name)


def make(factory: Factory, num_features: int, options: dict[str, Any], *, called: str) -> nn.Module:
    """Call a factory with the number of features: by that name if it has it, else as its first argument.

    torch's own classes are called without, but for PReLU.
    """
    if isinstance(factory, type) and factory.__module__.startswith("torch.nn"):
        made = factory(*((num_features,) if issubclass(factory, nn.PReLU) else ()), **options)
        assert isinstance(made, nn.Module)
        return made
    signature = inspect.signature(factory)
    named = "num_features" in signature.parameters
    first: tuple[Any, ...] = () if named else (num_features,)
    everything = {"num_features": num_features, **options} if named else options
    try:
        signature.bind(*first, **everything)
    except TypeError as error:
        own = ", ".join(key for key in signature.parameters if key not in ("self", "num_features"))
        raise TypeError(f"{called}: {error}. It takes {own or 'no options'}") from None
    return factory(*first, **everything)


def accepted(factory: Factory, **options: Any) -> dict[str, Any]:
    """Those of the options that a factory takes, for callers that would hand over more than it may want."""
    try:
        parameters = inspect.signature(factory).parameters
    except ValueError:  # some built-in callables have no signature
        return {}
    return {key: value for key, value in options.items() if key in parameters}


def _same_source(one: Factory, two: Factory) -> bool:
    """Whether both come from the same definition, run again, as in a notebook."""
    nameless = "<lambda>" in _origin(one) or isinstance(one, functools.partial)
    return not nameless and _origin(one) == _origin(two)


def _origin(factory: Factory) -> str:
    module = getattr(factory, "__module__", "")
    return f"{module}.{getattr(factory, '__qualname__', type(factory).__qualname__)}"
