"""``kafnets predict``."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from kafnets.cli.refusals import refusing


def predict(
    predictor: Annotated[Path, typer.Argument(help="A saved network: the folder 'best' of a comparison.")],
    table: Annotated[Path, typer.Argument(help="A table with the columns that the network was trained on.")],
    output: Annotated[Path | None, typer.Option(help="Output file (.csv); default: standard output.")] = None,
    probabilities: Annotated[
        bool, typer.Option("--probabilities", help="Add a column per class with its probability.")
    ] = False,
) -> None:
    """Predict the target for each row of a table, as CSV.

    Example: kafnets predict kafnets-runs/compare/patients-1f0c2a/best new.csv --output predicted.csv
    """
    with refusing():
        import pandas as pd

        from kafnets import files
        from kafnets.data.reading import read_frame
        from kafnets.train.predictor import Predictor

        network, rows = Predictor.load(predictor), read_frame(table)
        found = pd.DataFrame({network.target or "predicted": network.predict(rows)})
        if probabilities:
            for name, column in zip(network.classes, network.predict_proba(rows).T, strict=True):
                found[f"probability of {name}"] = column
        text = found.to_csv(index=False)
        if output is None:
            sys.stdout.write(text)
        else:
            files.write(output, text)
            typer.echo(f"{output}: {len(found)} rows", err=True)
