"""``kafnets compare``."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from kafnets.cli.listing import ranked_table, verdict
from kafnets.cli.refusals import refuse, refusing
from kafnets.cli.sweeping import (
    EngineName,
    console_of_this_process,
    run_all,
    sizes_by_epoch,
    whole_numbers,
    words,
)


def compare(
    table: Annotated[Path | None, typer.Argument(help="A .csv, .csv.gz or .parquet file.")] = None,
    target: Annotated[str, typer.Option(help="The table's column to predict.")] = "",
    data: Annotated[str, typer.Option(help="In place of a table: a name of `kafnets data list`.")] = "",
    activations: Annotated[
        str, typer.Option(help="Names with commas between them, or all; see `kafnets list`.")
    ] = "",
    task: Annotated[
        str, typer.Option(help="classification or regression; by default, what the target looks like.")
    ] = "",
    drop: Annotated[str, typer.Option(help="Columns to leave out, with commas.")] = "",
    hidden: Annotated[str, typer.Option(help="Widths of the hidden layers, with commas.")] = "90,90",
    dropout: Annotated[
        float, typer.Option(min=0, help="Behind each hidden layer, at the start; it falls to 0.")
    ] = 0.15,
    epochs: Annotated[int, typer.Option(min=1, help="The most there may be.")] = 100,
    patience: Annotated[
        int | None,
        typer.Option(min=1, help="Stop after so many epochs without improvement. By default it never does."),
    ] = None,
    batch_size: Annotated[
        int | None, typer.Option(min=1, help="Rows a step; by default a 32nd of them, from 32 to 256.")
    ] = None,
    learning_rate: Annotated[
        float | None,
        typer.Option(min=0, help="At the start; it falls to 0. By default 3e-3 or more, by the rows a step."),
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
    seeds: Annotated[int, typer.Option(min=1, help="Runs of each, each dividing the rows anew.")] = 5,
    jobs: Annotated[int, typer.Option(min=1, help="Runs side by side.")] = 1,
    output: Annotated[Path, typer.Option(help="Folder for the run folders.")] = Path("kafnets-runs"),
    engine: Annotated[EngineName, typer.Option(help="This machine, or a Ray cluster.")] = EngineName.local,
    precision: Annotated[str, typer.Option(help="32-true, bf16-mixed or 16-mixed.")] = "32-true",
    compile: Annotated[bool, typer.Option("--compile", help="Use torch.compile.")] = False,
    tensorboard: Annotated[bool, typer.Option("--tensorboard", help="Log for TensorBoard too.")] = False,
) -> None:
    """Which activation suits your data, and what does it cost?

    Example: kafnets compare patients.csv --target outcome --jobs 2

    Example: kafnets compare --data digits --activations "relu,kaf,kaf(base=silu,tails=linear)"

    Trains the same network with each activation, several times. Rows are divided 70/15/15 into a training,
    a validation and a test part; gaps and text columns are taken care of. Interrupt it whenever you like: the
    same command goes on where it was.
    """
    import kafnets
    from kafnets.comparison import compare as comparison
    from kafnets.comparison import summary
    from kafnets.comparison.runner import finished
    from kafnets.train.recipe import RECIPE

    if (table is None) == (not data):
        refuse("give either a table, with --target, or --data: see `kafnets compare --help`")
    if table is not None and not target:
        refuse(f"say which column of {table} is to be predicted: --target NAME")
    if data and (target or task or drop):
        refuse("--target, --task and --drop are for tables: leave them out with --data")
    if data == "cifar10":
        refuse(f"{data} holds images: compare takes tables of features, see `kafnets data list`")
    if learning_rate == 0:
        refuse("--learning-rate must be above 0: nothing is learned at 0")
    if task not in ("", "classification", "regression"):
        refuse(f"--task must be classification or regression, got {task!r}")
    names = kafnets.names() if activations == "all" else words(activations)
    console = console_of_this_process()
    with refusing():
        chosen = comparison.descriptions(
            str(table) if table is not None else data,
            names or comparison.ACTIVATIONS,
            hidden=whole_numbers("--hidden", hidden),
            dropout=dropout,
            seeds=seeds,
            settings=replace(
                RECIPE,
                batch_size=batch_size or RECIPE.batch_size,
                epochs=epochs,
                patience=patience,
                learning_rate=RECIPE.learning_rate if learning_rate is None else learning_rate,
                activation_lr=activation_lr,
                initialize_biases=initialize_biases,
                calibrate_after=calibrate_after,
                refine=sizes_by_epoch(refine),
                monitor=monitor,
                precision=precision,
                compile=compile,
            ),
            table=None if table is None else {"target": target, "task": task or None, "drop": words(drop)},
        )
        splits = comparison.check(chosen)
    for note in splits.notes:
        console.print(f"note: {note}", highlight=False)
    run_all(chosen, output, console, jobs=jobs, engine=engine, tensorboard=tensorboard)
    with refusing():
        found = summary.cells(finished(chosen, output), wanted=seeds)
    if not found:
        refuse("no run came to its end: try a smaller --learning-rate")
    folder = output / chosen[0].experiment / chosen[0].profile
    with console.status("timing a step of each"):
        ratios = comparison.stored_ratios(folder, found) or comparison.step_ratios(chosen)
    console.print(
        ranked_table(found, ratios, f"{splits.name}: {splits.task}, {seeds} seed{'s' if seeds > 1 else ''}")
    )
    console.print(verdict(found, comparison.BASELINE))
    with refusing():
        best, saved = comparison.save_best(chosen, found, output)
    ranking = comparison.as_json(chosen, found, ratios)
    text = json.dumps(ranking, indent=2, ensure_ascii=False) + "\n"
    (folder / comparison.RANKING).write_text(text, encoding="utf-8")
    console.print(f"All runs are in {folder}.")
    console.print(f"Best in validation, and saved: {best.label}, seed {best.seed}. To use it:\n")
    rows = '"new.csv"' if table is not None else "rows"
    console.print(
        "    from kafnets.train import Predictor\n"
        f"    predictor = Predictor.load({str(saved)!r})\n"
        f"    predictor.predict({rows})",
        highlight=False,
        soft_wrap=True,
    )
