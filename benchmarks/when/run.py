"""Where learned activations win and where they lose: networks of equal size, one line of JSON per run.

    python -m benchmarks.when.run formulas

Runs that are stored are not repeated; they go seed by seed, so that all have the same seeds at any time.
Every method tries the same learning rates. The validation part chooses; errors are those of the test part.
"""

import argparse
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import torch

from benchmarks.tables.run import append, stored
from benchmarks.when import image, physics, supervised
from benchmarks.when.study import Case
from kafnets.provenance import provenance

OUTPUT = Path("benchmarks/results/when.jsonl")
STUDIES = {
    "formulas": supervised.FORMULA_STUDY,
    "more-formulas": supervised.MORE_FORMULAS_STUDY,
    "digits": supervised.DIGITS_STUDY,
    "sensorless": supervised.SENSORLESS_STUDY,
    "few-rows": supervised.FEW_ROWS_STUDY,
    "few-rows-more": supervised.MORE_ROWS_STUDY,
    "image": image.STUDY,
    "physics": physics.STUDY,
}
"""By the name of the task."""


def main(arguments: Sequence[str] | None = None) -> None:
    """The command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("task", choices=list(STUDIES))
    parser.add_argument(
        "--name", action="append", help="of a formula or data set; repeat for more; default: all"
    )
    parser.add_argument("--method", action="append", help="repeat for more; default: all of the study")
    parser.add_argument("--seeds", type=int, help="how many; default: the study's")
    parser.add_argument("--output", type=Path, default=OUTPUT)
    given = parser.parse_args(arguments)
    torch.set_num_threads(1)
    study = STUDIES[given.task]
    done = {Case(*(line[key] for key in Case.__annotations__)) for line in stored(given.output)}
    for case in study.cases(given.task):
        left_out = (
            case.name not in (given.name or study.names)
            or case.method not in (given.method or study.methods)
            or case.seed >= (study.seeds if given.seeds is None else given.seeds)
        )
        if left_out or case in done:
            continue
        try:
            found = study.result(case)
        except ValueError as error:  # too few parameters for it
            print(f"{case}: {error}")
            continue
        append(given.output, asdict(case) | found | {"provenance": provenance("scipy", "scikit-learn")})
        print(case.seed, case.name, case.method, case.budget, f"{found['error']:.4f}", flush=True)


if __name__ == "__main__":
    main()
