"""Expansions and their derivatives over any array library ``xp`` with NumPy's names.

Every framework calls these formulas with its own library, and is told which derivative belongs to what. There
is one module of formulas for KAFs and one for 2D-KAFs, with the same functions:

- ``value(xp, expansion, s, alpha)``: the expansion;
- ``slope(xp, expansion, s, alpha)``: its derivative by each input, in the shape of ``s``;
- ``by_input(xp, upstream, slopes)``: that of ``sum(upstream * output)``, from these slopes;
- ``by_coefficients(xp, expansion, upstream, s)``: by alpha;
- ``by_gamma(xp, expansion, s, alpha)``: the derivative of each output by its bandwidth;
- ``pushed(tangent)``: the change of the outputs, from slopes times the change of the inputs.

Activations come as ``(..., N)``, channels last, with coefficients ``(N, D)``; for a 2D-KAF as ``(..., 2 P)``
with coefficients ``(P, D, D)``, and ``(..., P)`` comes out. Both in the precision that is to be computed in.
A learned bandwidth, ``()`` or one per function, is the kernel's: see :meth:`Expansion.with_gamma`. Nothing
here is larger than the activations, whatever D is, unless the library keeps terms.
"""

from types import ModuleType

from kafnets.arrays import kaf, kaf2d
from kafnets.expansion import Expansion


def formulas(expansion: Expansion) -> ModuleType:
    """The module of formulas for an expansion."""
    return kaf if expansion.dimensions == 1 else kaf2d
