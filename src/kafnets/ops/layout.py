"""Memory layout: results lie in memory as their input does."""

from torch import Tensor


def in_layout_of(input: Tensor, result: Tensor) -> Tensor:
    """``result`` with its axes in the same order in memory as those of ``input``.

    What torch's own element-wise functions do: channels_last stays channels_last, a transposed
    tensor stays transposed. Copies only if the order differs.
    """
    order = _axes_by_stride(input)
    inverse = [order.index(axis) for axis in range(input.dim())]
    return result.permute(order).contiguous().permute(inverse)


def _axes_by_stride(input: Tensor) -> list[int]:
    """Outermost axis first; among equal strides the written order decides, as in a contiguous tensor.

    An insertion sort, because torch.compile can compare symbolic strides but not sort by them.
    """
    strides = input.stride()
    order: list[int] = []
    for axis in range(input.dim()):
        place = len(order)
        while place > 0 and strides[order[place - 1]] < strides[axis]:
            place -= 1
        order.insert(place, axis)
    return order
