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
    table: Annotated[Path | None, typer.Argument(help="A .csv, .csv.gz or .parquet file.")] = None,
    target: Annotated[str, typer.Option(help="The table's column to predict.")] = "",
    data: Annotated[
        str,
        typer.Option(help="In place of a table: a name of `kafnets data list`.", autocompletion=data_names),
    ] = "",
    activations: Annotated[
        str,
        typer.Option(
            help="Comma-separated names, or all; see `kafnets list`.", autocompletion=activation_names
        ),
    ] = "",
    rivals: Annotated[str, typer.Option(help="Also compare with trees: forest,boosting.")] = "",
    task: Annotated[
        str, typer.Option(help="classification or regression; by default, what the target looks like.")
    ] = "",
    drop: Annotated[str, typer.Option(help="Columns to leave out, comma-separated.")] = "",
    hidden: Annotated[
        str, typer.Option(help="Widths of the hidden layers, comma-separated.")
    ] = "128,128,128",
    dropout: Annotated[
        float, typer.Option(min=0, help="Behind each hidden layer, at the start; it falls to 0.")
    ] = 0.15,
    members: Annotated[int, typer.Option(min=1, help="Networks per run whose predictions are averaged.")] = 1,
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
            min=0, help="Initial learning rate, which falls to 0. Default: 3e-3 or more, by the batch size."
        ),
    ] = None,
    activation_lr: Annotated[
        float, typer.Option(help="Factor on the learning rate for the parameters of activations.")
    ] = 1.0,
    initialize_biases: Annotated[
        bool, typer.Option("--initialize-biases", help="Draw first biases from training rows.")
    ] = False,
    calibrate_after: Annotated[
        int | None, typer.Option(min=1, help="Epochs after which dictionaries move to where inputs are.")
    ] = None,
    refine: Annotated[
        str, typer.Option(help="Dictionary sizes by epochs, such as 10:20,30:40: coarse to fine.")
    ] = "",
    monitor: Annotated[bool, typer.Option("--monitor", help="Log what KAFs' inputs look like.")] = False,
    tune: Annotated[
        int, typer.Option(min=0, help="Settings to try for each activation, in validation, before its seeds.")
    ] = 0,
    seeds: Annotated[int, typer.Option(min=1, help="Runs of each, each dividing the rows anew.")] = 5,
    jobs: Annotated[int, typer.Option(min=1, help="Runs side by side.")] = 1,
    output: Annotated[Path, typer.Option(help="Output folder.")] = Path("kafnets-runs"),
    engine: Annotated[EngineName, typer.Option(help="This machine, or a Ray cluster.")] = EngineName.local,
    precision: Annotated[str, typer.Option(help="32-true, bf16-mixed or 16-mixed.")] = "32-true",
    compile: Annotated[bool, typer.Option("--compile", help="Use torch.compile.")] = False,
    tensorboard: Annotated[bool, typer.Option("--tensorboard", help="Log for TensorBoard too.")] = False,
    as_json: AsJson = False,
) -> None:
    """Which activation suits your data, and what does it cost?

    Example: kafnets compare patients.csv --target outcome --jobs 2

    Example: kafnets compare --data digits --activations "relu,kaf,kaf(base=silu,tails=linear)"

    Trains the same network with each activation, several times. Rows are divided 70/15/15 into a training,
    a validation and a test part; gaps and text columns are taken care of. Interrupt it whenever you like: the
    same command resumes it, with identical results.
    """
    from kafnets.comparing import ACTIVATIONS
    from kafnets.comparing import compare as compared
    from kafnets.comparison.ranking import RANKING

    if (table is None) == (not data):
        refuse("give either a table, with --target, or --data: see `kafnets compare --help`")
    if table is not None and not target:
        refuse(f"say which column of {table} is to be predicted: --target NAME")
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
    for text in (found.verdict, found.board.test, f"All runs are in {found.folder}."):
        console.print(text, soft_wrap=True)
    best = found.folder / "best"
    rows = "new.csv" if table is not None else "rows.csv"
    console.print(
        f"The best network in validation, {found.best.architecture.activation}, is saved. To use it:\n\n"
        f"    kafnets predict {shlex.quote(str(best))} {rows}\n\n"
        f"    kafnets.Predictor.load({str(best)!r}).predict({rows!r})",
        soft_wrap=True,
    )
