"""``kafnets compare``."""

import json
import shlex
from pathlib import Path
from typing import Annotated, Any, cast

import typer

from kafnets.cli.completion import activation_names, data_names
from kafnets.cli.refusals import refuse, refusing
from kafnets.cli.sweeping import (
    AsJson,
    EngineName,
    console_of_this_process,
    interruptible,
    print_json,
    sizes_by_epoch,
    whole_numbers,
    words,
)


def compare(
    table: Annotated[
        Path | None, typer.Argument(help="A .csv, .csv.gz, .zip, .parquet or .xlsx file.")
    ] = None,
    target: Annotated[str, typer.Option(help="The column to predict.")] = "",
    data: Annotated[
        str,
        typer.Option(help="A name of `kafnets data list`, instead of a table.", autocompletion=data_names),
    ] = "",
    activations: Annotated[
        str,
        typer.Option(
            help="Comma-separated names, or all; see `kafnets list`.", autocompletion=activation_names
        ),
    ] = "",
    rivals: Annotated[
        str, typer.Option(help="Also: forest,boosting,mlp,lightgbm,xgboost,catboost,realmlp,tabm,edgewise.")
    ] = "",
    task: Annotated[
        str, typer.Option(help="classification or regression; default: inferred from the target.")
    ] = "",
    drop: Annotated[str, typer.Option(help="Columns to omit, comma-separated.")] = "",
    hidden: Annotated[
        str, typer.Option(help="Widths of the hidden layers, comma-separated.")
    ] = "128,128,128",
    dropout: Annotated[
        float, typer.Option(min=0, help="Initial dropout after each hidden layer; it decreases to 0.")
    ] = 0.15,
    members: Annotated[int, typer.Option(min=1, help="Networks per run whose predictions are averaged.")] = 1,
    share_weights: Annotated[bool, typer.Option(help="These share their linear weights: faster.")] = False,
    embedding: Annotated[
        str, typer.Option(help="Learned functions of single features: kaf, periodic, or auto (half of them).")
    ] = "",
    epochs: Annotated[int, typer.Option(min=1, help="Maximum number of epochs.")] = 60,
    patience: Annotated[
        int | None,
        typer.Option(min=1, help="Epochs without improvement before stopping. Default: no early stopping."),
    ] = None,
    batch_size: Annotated[
        int | None, typer.Option(min=1, help="Batch size; default: rows / 32, clipped to 32-256.")
    ] = None,
    learning_rate: Annotated[
        float | None,
        typer.Option(
            min=0,
            help="Maximum learning rate; it starts and ends at 0. Default: 3e-3 or more, by batch size.",
        ),
    ] = None,
    activation_lr: Annotated[
        float, typer.Option(help="Factor on the learning rate for the parameters of activations.")
    ] = 1.0,
    initialize_biases: Annotated[
        bool, typer.Option("--initialize-biases", help="Draw initial biases from training rows.")
    ] = False,
    calibrate_after: Annotated[
        int | None, typer.Option(min=1, help="Epochs after which dictionaries move to the range of inputs.")
    ] = None,
    refine: Annotated[
        str, typer.Option(help="Dictionary sizes by epochs, such as 10:20,30:40: coarse to fine.")
    ] = "",
    monitor: Annotated[bool, typer.Option("--monitor", help="Log statistics of the inputs of KAFs.")] = False,
    tune: Annotated[
        int,
        typer.Option(min=0, help="Number of settings to try per activation first, on the validation part."),
    ] = 0,
    seeds: Annotated[
        int, typer.Option(min=1, help="Runs per activation, each with its own division of the rows.")
    ] = 5,
    jobs: Annotated[int, typer.Option(min=1, help="Number of runs in parallel.")] = 1,
    output: Annotated[Path, typer.Option(help="Output folder.")] = Path("kafnets-runs"),
    engine: Annotated[EngineName, typer.Option(help="This machine, or a Ray cluster.")] = EngineName.local,
    precision: Annotated[str, typer.Option(help="32-true, bf16-mixed or 16-mixed.")] = "32-true",
    compile: Annotated[bool, typer.Option("--compile", help="Use torch.compile.")] = False,
    tensorboard: Annotated[bool, typer.Option("--tensorboard", help="Also log to TensorBoard.")] = False,
    as_json: AsJson = False,
) -> None:
    """Compare activations on your data: scores, significance and cost.

    Example: kafnets compare patients.csv --target outcome --jobs 2

    Example: kafnets compare --data digits --activations "relu,kaf,kaf(base=silu,tails=linear)"

    Trains the same network with each activation, several times. Rows are divided 70/15/15 into a training,
    a validation and a test part; missing values and text columns are handled. After an interruption, the same
    command resumes with identical results.
    """
    from kafnets.comparing import ACTIVATIONS
    from kafnets.comparing import compare as compared
    from kafnets.comparison.ranking import RANKING

    if (table is None) == (not data):
        refuse("give either a table, with --target, or --data: see `kafnets compare --help`")
    if table is not None and not target:
        refuse(f"name the column of {table} to predict: --target NAME")
    if data == "cifar10":
        refuse(f"{data} holds images: compare takes tables of features, see `kafnets data list`")
    if learning_rate == 0:
        refuse("--learning-rate must be above 0: nothing is learned at 0")
    chosen: dict[str, Any] = {"batch_size": batch_size, "learning_rate": learning_rate}
    with refusing(), interruptible(output):
        found = compared(
            data or table,
            target or None,
            "all" if activations == "all" else words(activations) or ACTIVATIONS,
            rivals=words(rivals),
            seeds=seeds,
            jobs=jobs,
            task=cast(Any, task or None),
            drop=words(drop),
            hidden=whole_numbers("--hidden", hidden),
            dropout=dropout,
            n_members=members,
            share_weights=share_weights,
            embedding=embedding or None,
            tune=tune,
            output=output,
            engine=engine.value,
            tensorboard=tensorboard,
            epochs=epochs,
            patience=patience,
            activation_lr=activation_lr,
            initialize_biases=initialize_biases,
            calibrate_after=calibrate_after,
            refine=sizes_by_epoch(refine),
            monitor=monitor,
            precision=precision,
            compile=compile,
            **{name: value for name, value in chosen.items() if value is not None},
        )
    for note in found.unfinished:
        typer.echo(f"note: {note}", err=True)
    if as_json:
        stored = json.loads((found.folder / RANKING).read_text(encoding="utf-8"))
        print_json({"folder": str(found.folder), "unfinished": found.unfinished} | stored)
        return
    console = console_of_this_process()
    console.print(found.board.table(found.title))
    for text in (found.verdict, found.board.test, found.tuning, f"All runs are in {found.folder}."):
        if text:
            console.print(text, soft_wrap=True)
    best = found.folder / "best"
    rows = "new.csv" if table is not None else "rows.csv"
    console.print(
        f"The network with the best validation score, {found.best.architecture.activation}, is saved. To use "
        "it:\n\n"
        f"    kafnets predict {shlex.quote(str(best))} {rows}\n\n"
        f"    kafnets.Predictor.load({str(best)!r}).predict({rows!r})",
        soft_wrap=True,
    )
