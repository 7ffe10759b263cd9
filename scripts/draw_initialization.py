"""Draw the picture of docs/initialization.md: KAFs started as tanh and as ELU, and what they miss."""

from pathlib import Path

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import torch

from kafnets import KAF
from kafnets.arrays.library import NUMPY
from kafnets.fixed_functions import FUNCTIONS

TARGET = Path(__file__).parents[1] / "docs/images/initialization.png"


def main() -> None:
    """For each target: the function, the coefficients that make it, and the error inside the dictionary."""
    figure, axes = plt.subplots(
        3, 2, figsize=(10, 7), sharex=True, height_ratios=(2, 1, 1), layout="constrained"
    )
    for (upper, middle, lower), name in zip(axes.T, ("tanh", "elu"), strict=True):
        kaf = KAF(1, init=name, dtype=torch.float64)
        s = torch.linspace(-5, 5, 2001, dtype=torch.float64).unsqueeze(1)
        with torch.no_grad():
            learned, target = kaf(s), torch.from_numpy(FUNCTIONS[name](NUMPY, s.numpy()))
            at_dictionary = kaf(kaf.dictionary.unsqueeze(1))
        upper.plot(s, target, color="0.7", linewidth=5, label=f"{name}, the target")
        upper.plot(s, learned, color="tab:green", label="KAF after the ridge start")
        upper.plot(kaf.dictionary, at_dictionary, "o", color="tab:green", markersize=4, label="dictionary")
        upper.legend(fontsize="small", loc="upper left")
        upper.set(title=f"KAF(N, init={name!r})", ylabel="output")
        middle.stem(kaf.dictionary, kaf.alpha[0].detach(), linefmt="tab:red", basefmt="0.7")
        middle.set(ylabel="coefficients")
        inside = s.abs() <= 3
        lower.semilogy(s[inside], (learned - target).abs()[inside].clip(1e-12), color="tab:green")
        lower.set(xlabel="activation", ylabel="|KAF - target|", ylim=(1e-7, 1e-1))
    figure.savefig(TARGET, dpi=110)


if __name__ == "__main__":
    main()
