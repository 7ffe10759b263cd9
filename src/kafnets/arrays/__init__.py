"""Expansions and their derivatives over any array library ``xp`` with NumPy's names.

Every framework calls :mod:`kafnets.arrays.kaf` with its own library, and is told which derivative
belongs to what. Activations come as ``(..., N)``, channels last, with coefficients ``(N, D)``; for a 2D-KAF
as ``(..., 2 P)`` with coefficients ``(P, D, D)``, and ``(..., P)`` comes out: all in the precision to compute
in. A learned bandwidth, ``()`` or one per function, is the kernel's: see :meth:`Expansion.with_gamma`.
No array is larger than the activations, regardless of D, unless the library keeps terms.
"""
