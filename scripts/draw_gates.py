"""Draw the pictures of docs/recurrent.md and docs/complex.md: learned gates, and complex functions."""

from pathlib import Path
from typing import Any

import numpy as np
import torch
from sklearn.datasets import load_digits
from torch import nn

import kafnets
from kafnets.nn.complex_valued import STARTS
from kafnets.plot import style

FOLDER = Path(__file__).parents[1] / "docs/images"
EPOCHS, NEURONS = 20, 4
GATES = ("input", "forget", "output")


def gates() -> None:
    """Of some neurons of an LSTM that reads digits by row."""
    torch.manual_seed(0)
    images, labels = (torch.from_numpy(each) for each in load_digits(return_X_y=True))
    x = (images / 16).float().unflatten(1, (8, 8))
    lstm, readout = kafnets.nn.LSTM(8, 32, batch_first=True, dictionary_size=10), nn.Linear(32, 10)
    optimizer = torch.optim.Adam([*lstm.parameters(), *readout.parameters()], 0.01)
    for _ in range(EPOCHS):
        for rows in torch.randperm(len(x)).split(32):
            optimizer.zero_grad()
            output = readout(lstm(x[rows])[0][:, -1])
            nn.functional.cross_entropy(output, labels[rows]).backward()
            optimizer.step()
    s = torch.linspace(-5, 5, 201)
    kaf = lstm.get_submodule("gates_l0")
    with torch.no_grad():
        sums = kaf(s[:, None].expand(-1, 96))
        learned = torch.sigmoid(s[:, None] + 0.5 * sums).unflatten(1, (3, 32))
        # Those that have moved most from a sigmoid.
        moved = (learned - s.sigmoid()[:, None, None]).abs().amax(0)
    figure, places = style.grid(3 * NEURONS, NEURONS)
    for row, name in enumerate(GATES):
        for column, neuron in enumerate(moved[row].topk(NEURONS).indices.tolist()):
            place = places[row * NEURONS + column]
            place.plot(s, s.sigmoid(), **style.START)
            place.plot(s, learned[:, row, neuron], **style.LEARNED)
            place.set_title(f"{name} gate, neuron {neuron}", fontsize=8)
            style.plain(place)
    figure.savefig(FOLDER / "gates.png", dpi=100)


def planes() -> None:
    """Modulus of functions that complex KAFs start as."""
    axis = torch.linspace(-4, 4, 161)
    plane = torch.complex(*torch.meshgrid(axis, axis, indexing="xy")).reshape(-1, 1)
    figure, places = style.grid(6, 3, width=2.6, height=2.3)
    for row, start in enumerate(("split_relu", "modrelu")):
        shown: dict[str, Any] = {
            start: STARTS[start],
            f"gaussian, init={start!r}": kafnets.nn.ComplexKAF(1, init=start),
            f"complex_gaussian, init={start!r}": kafnets.nn.ComplexKAF(
                1, kernel="complex_gaussian", init=start
            ),
        }
        for column, (title, function) in enumerate(shown.items()):
            with torch.no_grad():
                values = function(plane).abs().reshape(161, 161).numpy()
            place = places[3 * row + column]
            drawn = place.imshow(
                np.minimum(values, 5),
                origin="lower",
                extent=(-4, 4, -4, 4),
                cmap=style.SURFACE,
                vmin=0,
                vmax=5,
            )
            place.plot([-3, 3, 3, -3, -3], [-3, -3, 3, 3, -3], **style.ENDS)
            place.set_title(title, fontsize=7)
            style.plain(place)
    figure.colorbar(drawn, ax=places, shrink=0.6).ax.tick_params(labelsize=7)
    figure.savefig(FOLDER / "complex.png", dpi=100)


if __name__ == "__main__":
    gates()
    planes()
