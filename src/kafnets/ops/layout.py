"""Channel axis and memory layout: outputs have the layout of the inputs."""

from collections.abc import Callable

from torch import Tensor


def in_groups(run: Callable[[Tensor, int], Tensor], s: Tensor, groups: int, dim: int) -> Tensor:
    """``run(s, dim)`` for functions that neighboring channels share: it is given one channel per group.

    The members of a group become positions, which costs nothing.
    """
    if groups == 1:
        return run(s.unsqueeze(0), 0).squeeze(0)
    axis = dim % s.dim()
    return run(s.unflatten(axis, (groups, -1)), axis).flatten(axis, axis + 1)


def in_layout_of(input: Tensor, result: Tensor) -> Tensor:
    """``result`` with its axes in the same order in memory as those of ``input``.

    What torch's own element-wise functions do: channels_last stays channels_last, a transposed
    tensor stays transposed. Copies only if the order differs.
    """
    order = axes_by_stride(input)
    return in_written_order(result.permute(order).contiguous(), order)


def in_memory_order(input: Tensor, dim: int) -> tuple[Tensor, int, list[int] | None]:
    """The same values as a contiguous tensor, its channel axis, and the order of axes if it is another."""
    axis = dim if dim >= 0 else dim + input.dim()
    if input.is_contiguous():
        return input, axis, None
    order = axes_by_stride(input)
    return input.permute(order).contiguous(), order.index(axis), order


def in_written_order(result: Tensor, order: list[int] | None) -> Tensor:
    """Undo the reordering of :func:`in_memory_order`."""
    return result if order is None else result.permute([order.index(axis) for axis in range(len(order))])


def axes_by_stride(input: Tensor) -> list[int]:
    """Outermost axis first. Where strides do not tell, as in an expanded axis, the written order decides.

    An insertion sort, because torch.compile can compare symbolic strides but not sort by them.
    """
    strides = input.stride()
    order = list(range(input.dim()))
    for last in range(1, len(order)):
        place = last
        for other in range(last - 1, -1, -1):
            outer, inner = strides[order[other]], strides[order[place]]
            if outer == 0 or inner == 0:
                continue
            if outer >= inner:
                break
            order[other], order[place] = order[place], order[other]
            place = other
    return order
