"""``kafnets reproduce``."""

from collections.abc import Callable, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from kafnets.cli.completion import activation_names, data_names
from kafnets.cli.refusals import refuse, refusing
from kafnets.cli.sweeping import (
    AsJson,
    EngineName,
    console_of_this_process,
    print_json,
    run_all,
    whole_numbers,
    words,
)

reproduce = typer.Typer(
    no_args_is_help=True,
    help="Reproduce an experiment of the paper, with its published numbers.\n\nAfter an interruption, the "
    "same command resumes; finished runs are kept.",
)

Activations = Annotated[
    str, typer.Option(help="Comma-separated names; default: the paper's.", autocompletion=activation_names)
]
Seeds = Annotated[int, typer.Option(min=1, help="Runs per activation.")]
Jobs = Annotated[int, typer.Option(min=1, help="Number of runs in parallel.")]
Output = Annotated[Path, typer.Option(help="Output folder.")]
RUNS = Path("kafnets-runs")
Engine = Annotated[EngineName, typer.Option(help="This machine, or a Ray cluster.")]
TensorBoard = Annotated[bool, typer.Option("--tensorboard", help="Also log to TensorBoard.")]


def _supervised(experiment: str, profiles: Sequence[str]) -> Callable[..., None]:
    def command(
        profile: Annotated[str, typer.Option(help=f"One of {', '.join(profiles)}.")] = "paper",
        activations: Activations = "",
        layers: Annotated[
            str, typer.Option(help="Numbers of hidden layers or modules, comma-separated.")
        ] = "",
        seeds: Seeds = 5,
        jobs: Jobs = 1,
        output: Output = RUNS,
        engine: Engine = EngineName.local,
        tensorboard: TensorBoard = False,
        as_json: AsJson = False,
    ) -> None:
        from kafnets.comparison import summary
        from kafnets.comparison.runner import finished
        from kafnets.paper.experiments import EXPERIMENTS
        from kafnets.paper.run_tables import result_table

        paper = EXPERIMENTS[experiment]
        with refusing():
            chosen = paper.descriptions(
                profile,
                words(activations) or paper.activations,
                whole_numbers("--layers", layers) if layers else (),
                seeds,
            )
        console = console_of_this_process()
        run_all(chosen, output, jobs=jobs, engine=engine, tensorboard=tensorboard)
        with refusing():
            found = summary.cells(finished(chosen, output), wanted=seeds)
        if as_json:
            print_json([cell.numbers() for cell in found])
        else:
            console.print(result_table(found, paper.published, experiment, profile))

    return command


reproduce.command(
    "sensorless",
    help="Sensorless Drive Diagnosis: layers of 100 neurons.\n\nExample: kafnets reproduce sensorless "
    "--profile quick --activations tanh,kaf --seeds 2\n\nOther names: 'kaf from tanh', 'kaf frozen', 'kaf "
    "learned gamma' and 'kaf D=5' (10, 40, 80).",
)(_supervised("sensorless", ("paper", "quick")))
reproduce.command(
    "susy",
    help="SUSY, particle collisions: one to five layers of 300.\n\nExample: kafnets reproduce "
    "susy --profile sample",
)(_supervised("susy", ("paper", "sample", "quick")))
reproduce.command(
    "cifar10",
    help="CIFAR-10, small photographs: two to five convolutional modules.\n\nExample: kafnets reproduce "
    "cifar10 --profile small --layers 2,3",
)(_supervised("cifar10", ("paper", "long", "short", "medium", "small", "quick")))


@reproduce.command("rl")
def reinforcement_learning(
    envs: Annotated[
        str,
        typer.Option(
            help="Comma-separated: swimmer, humanoidstandup, inverted_pendulum, or Gymnasium's name of "
            "another MuJoCo environment; default: the paper's three."
        ),
    ] = "",
    activations: Activations = "",
    steps: Annotated[int, typer.Option(min=1, help="Environment steps per run.")] = 1_000_000,
    seeds: Seeds = 5,
    jobs: Jobs = 1,
    output: Output = RUNS,
    engine: Engine = EngineName.local,
    tensorboard: TensorBoard = False,
    as_json: AsJson = False,
) -> None:
    """MuJoCo: policies with two hidden layers of 64, trained by PPO.

    Example: kafnets reproduce rl --envs inverted_pendulum --steps 50000 --seeds 2 --jobs 2
    """
    from kafnets.comparison import summary
    from kafnets.comparison.runner import finished
    from kafnets.paper import rl
    from kafnets.paper.run_tables import reward_tables
    from kafnets.train.processes import total_processes

    if total_processes() > 1:
        refuse("policies are small and are trained in one process: use --jobs instead of torchrun")
    with refusing():
        chosen = rl.descriptions(
            words(envs) or rl.ENVIRONMENTS, words(activations) or rl.ACTIVATIONS, steps, seeds
        )
    console = console_of_this_process()
    run_all(chosen, output, jobs=jobs, engine=engine, tensorboard=tensorboard)
    with refusing():
        records = finished(chosen, output)
        final, areas = (summary.cells(records, metric, wanted=seeds) for metric in ("reward", "area"))
    if as_json:
        print_json([cell.numbers() for cell in (*final, *areas)])
        return
    for table in reward_tables(final, areas, steps):
        console.print(table)


@reproduce.command("wider")
def beyond_the_paper(
    data: Annotated[
        str, typer.Option(help="Comma-separated data sets; default: nine.", autocompletion=data_names)
    ] = "",
    activations: Annotated[
        str,
        typer.Option(
            help="Comma-separated names; default: all. Other names: 'edgewise kaf', 'random forest', "
            "'gradient boosting', and 'kaf unchanged' (not tuned).",
            autocompletion=activation_names,
        ),
    ] = "",
    seeds: Seeds = 5,
    jobs: Jobs = 1,
    output: Output = RUNS,
    engine: Engine = EngineName.local,
    as_json: AsJson = False,
) -> None:
    """More tables: all activations, and trees, each with a learning rate chosen in validation.

    Example: kafnets reproduce wider --data digits,abalone --activations relu,kaf,"random forest" --seeds 2
    """
    from kafnets.comparison.ranking import rank
    from kafnets.comparison.runner import finished
    from kafnets.paper import wider

    sets = list(dict.fromkeys(words(data))) or list(wider.EVERYWHERE)
    with refusing():
        chosen = wider.descriptions(sets, words(activations), seeds)
    console = console_of_this_process()
    run_all(chosen, output, jobs=jobs, engine=engine, tensorboard=False)
    boards = {}
    for name in sets:
        with refusing():
            records = finished((each for each in chosen if each.data == name), output)
            if records:
                boards[name] = rank(records, wanted=seeds)
            else:
                typer.echo(f"note: no run on {name} finished", err=True)
    if as_json:
        print_json({name: board.numbers() for name, board in boards.items()})
        return
    for name, board in boards.items():
        console.print(board.table(f"{name}, tuned on the validation part"))


class Study(StrEnum):
    """Studies with a plan that was committed before their runs."""

    sensorless = "sensorless"
    policies = "policies"


@reproduce.command("confirmatory")
def confirmatory_study(
    study: Annotated[Study, typer.Option(help="Which of the planned studies.")] = Study.sensorless,
    jobs: Jobs = 1,
    output: Output = RUNS,
    engine: Engine = EngineName.local,
    folder: Annotated[Path, typer.Option(help="Checkout of kafnets, with the plan in its docs.")] = Path(),
) -> None:
    """Run a planned study with fresh seeds, seed by seed, except for the runs that are stored.

    The plans are docs/confirmatory-plan.md for Sensorless and docs/policy-plan.md for reinforcement learning.

    Example: kafnets reproduce confirmatory --study policies --jobs 2
    """
    from kafnets.comparison.runner import Runnable, finished
    from kafnets.paper.plan import Plan
    from kafnets.paper.policy_study import PolicyPlan
    from kafnets.paper.store import Store

    planned: Sequence[Runnable]
    with refusing():
        planned = (PolicyPlan if study is Study.policies else Plan).of(folder).descriptions()
        left = Store(folder / "results").missing(planned)
    console = console_of_this_process()
    run_all(left, output, jobs=jobs, engine=engine, tensorboard=False)
    with refusing():
        stored = len(planned) - len(left)
        done = stored + len(finished(left, output))
    console.print(f"{done} of {len(planned)} planned runs are finished, {stored} of them stored")


@reproduce.command("store")
def store_runs(
    runs: Annotated[Path, typer.Argument(help="Folder of finished runs.")] = RUNS,
    folder: Annotated[Path, typer.Option(help="Checkout of kafnets, with results in it.")] = Path(),
) -> None:
    """Add finished runs to the store of a checkout.

    Example: kafnets reproduce store kafnets-runs

    If a run is damaged, or was made on other data or with other settings than its experiment has, nothing is
    stored. Update the documents afterwards, with `kafnets reproduce all`.
    """
    from kafnets.paper.store import CHECKSUMS, Store

    if not runs.is_dir():
        refuse(f"{runs} does not exist: give the folder that `kafnets reproduce` wrote")
    store = folder / "results"
    if not (store / CHECKSUMS).exists():
        refuse(f"--folder must be a checkout of kafnets, with {store / CHECKSUMS} in it, got '{folder}'")
    with refusing():
        added = Store(store).add(runs)
    console_of_this_process().print(f"{len(added)} runs added to {store}")


@reproduce.command("all")
def every_table(
    folder: Annotated[
        Path, typer.Option(help="Checkout of kafnets, with results, benchmarks and docs in it.")
    ] = Path(),
    check: Annotated[
        bool, typer.Option("--check", help="Write nothing; fail if a document is out of date.")
    ] = False,
) -> None:
    """Update every table and verdict in the documents of a checkout from the stored runs.

    Example: kafnets reproduce all --check

    Nothing is trained.
    """
    from kafnets.paper import documents

    console = console_of_this_process()
    with refusing():
        if check:
            if stale := documents.stale(folder):
                refuse(f"{', '.join(map(str, stale))} out of date: run kafnets reproduce all")
            console.print("The documents are up to date.")
        else:
            console.print(f"written: {', '.join(map(str, documents.write(folder)))}", soft_wrap=True)
