"""Functions with nothing to learn, and their derivatives."""

import torch
from matplotlib.figure import Figure

import kafnets
from zoo.canvas import MOVED, START, finish, panels
from zoo.sampling import line


def draw() -> Figure:
    figure, axes = panels(2, 4, 4.8)
    places = torch.from_numpy(line(4)).requires_grad_()
    for panel, name in zip(axes, kafnets.names("fixed"), strict=True):
        output = kafnets.create(name, 1)(places)
        (slope,) = torch.autograd.grad(output.sum(), places)
        panel.plot(line(4), output.detach().numpy(), **START, label="function")
        panel.plot(line(4), slope.numpy(), **MOVED[1], label="derivative")
        finish(panel, name, ylim=(-2, 4), legend="upper left" if name == "sigmoid" else None)
    return figure
