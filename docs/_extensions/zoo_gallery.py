"""The directive ``zoo-gallery``: a row per activation, from the registry's facts and the stored timings."""

import html
import json
from collections.abc import Iterator
from pathlib import Path

import torch
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective
from sphinx.util.typing import ExtensionMetadata

import kafnets
from kafnets.registry import facts_of, find

STORED = Path(__file__).parents[2] / "benchmarks" / "results" / "cpu"
SHAPE = "(1024, 1024)"
TORCH = {"relu": "nn.ReLU", "elu": "nn.ELU", "tanh": "nn.Tanh"}
FUSED = {"kaf": "KAF, D=20, fused", "kaf2d": "2D-KAF, D=10, fused"}
WIDTH, HEIGHT, REACH, CELLS = 108, 54, 3.0, 18


class ZooGallery(SphinxDirective):
    """A table of every activation with its picture."""

    def run(self) -> list[nodes.Node]:
        """Called by Sphinx."""
        headings = ("", "name", "formula and source", "parameters per neuron", "time relative to PReLU")
        head = "".join(f"<th>{heading}</th>" for heading in headings)
        rows = "".join(f"<tr>{''.join(_cells(name))}</tr>" for name in kafnets.names())
        table = f'<table class="gallery"><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>'
        return [nodes.raw("", f'<div class="table-wrapper">{table}</div>', format="html")]


def _cells(name: str) -> Iterator[str]:
    facts = facts_of(name)
    cost = _costs().get(name)
    made = find(name)
    page = f"../api/generated/kafnets.{'' if hasattr(kafnets, made.__name__) else 'zoo.'}{made.__name__}.html"
    yield f"<td>{_picture(name)}</td>"
    yield (
        f'<td><a href="{page}"><code>{name}</code></a>'
        f'<br><a class="source" href="{facts.family}.html">{facts.family.replace("_", "-")}</a></td>'
    )
    source = f'<span class="source">{html.escape(facts.source)}</span>'
    yield f'<td class="formula">{html.escape(facts.formula)}<br>{source}</td>'
    yield f"<td>{html.escape(facts.parameters)}</td>"
    yield f"<td>{'-' if cost is None else f'{cost:.2f}'}</td>"


def _costs() -> dict[str, float]:
    """Forward and backward on one thread, over PReLU's time in the same measurement."""
    rivals = json.loads((STORED / "rivals.json").read_text(encoding="utf-8"))["times"][SHAPE]
    kernels = json.loads((STORED / "kernels.json").read_text(encoding="utf-8"))["one thread"][SHAPE]
    prelu, torch_prelu = rivals["prelu"]["ours"]["median"], kernels["nn.PReLU"]["median"]
    costs = {name: times["ours"]["median"] / prelu for name, times in rivals.items()}
    for name, label in (TORCH | FUSED).items():
        if label in kernels:
            costs[name] = kernels[label]["median"] / torch_prelu
    return costs


def _picture(name: str) -> str:
    facts = facts_of(name)
    if not facts.plottable:
        return ""
    with torch.random.fork_rng(), torch.no_grad():
        torch.manual_seed(3)
        module = kafnets.create(name, facts.arity).double().eval()
        shapes = _heat_map(module) if facts.arity == 2 else _curves(module)
    return (
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" role="img" '
        f'aria-label="{name} with its initial parameters">{shapes}</svg>'
    )


def _curves(module: torch.nn.Module) -> str:
    s = torch.linspace(-REACH, REACH, 73, dtype=torch.float64)
    outputs = module(s[:, None])
    low, high = min(float(outputs.min()), -0.2), max(float(outputs.max()), 0.2)

    def y(value: float) -> float:
        return HEIGHT - 4 - (HEIGHT - 8) * (value - low) / (high - low)

    axes = (
        f'<path class="axis" d="M0 {y(0.0):.1f}H{WIDTH}M{WIDTH / 2} 0V{HEIGHT}"/>'  # where s and g(s) are 0
    )
    step = WIDTH / (len(s) - 1)
    for column in outputs.T:
        points = " ".join(f"{i * step:.1f},{y(float(value)):.1f}" for i, value in enumerate(column))
        axes += f'<polyline points="{points}"/>'
    return axes


def _heat_map(module: torch.nn.Module) -> str:
    line = torch.linspace(-REACH, REACH, CELLS, dtype=torch.float64)
    values = module(torch.cartesian_prod(line, line))[:, 0].reshape(CELLS, CELLS)
    values = (values - values.min()) / (values.max() - values.min())
    width, height = WIDTH / CELLS, HEIGHT / CELLS
    return "".join(
        f'<rect x="{i * width:.1f}" y="{j * height:.1f}" width="{width:.2f}" height="{height:.2f}" '
        f'opacity="{float(values[i, CELLS - 1 - j]):.2f}"/>'
        for i in range(CELLS)
        for j in range(CELLS)
    )


def setup(app: Sphinx) -> ExtensionMetadata:
    """Called by Sphinx."""
    app.add_directive("zoo-gallery", ZooGallery)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
