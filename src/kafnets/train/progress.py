"""Progress of one fit: a bar in terminals and notebooks, lines elsewhere."""

import multiprocessing
import sys
import warnings
from typing import Any, Literal

from kafnets.train.loop import Progress

LONG = 3.0
"""Seconds after which a fit that is not told what to show shows a bar."""

Verbose = bool | Literal["auto", 0, 1, 2]


def bar(**options: Any) -> Any:
    """A progress bar in terminals and notebooks; None elsewhere, and without tqdm."""
    if not (sys.stderr.isatty() or _in_notebook()):
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # without ipywidgets, the bar is plain text
            from tqdm.auto import tqdm
    except ModuleNotFoundError:
        return None
    return tqdm(dynamic_ncols=True, **options)


def _in_notebook() -> bool:
    """Whether an IPython kernel runs this: that its package is imported says nothing."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return hasattr(shell, "kernel")


class FitProgress:
    """Called with what is done and for how many epochs, it gives what is to be told about each of them.

    Args:
        verbose: "auto" for a bar if it takes more than a few seconds; True or 1 for one at once, or a line
            per epoch where there can be no bar; 2 for a line per epoch; False or 0 for nothing. In processes
            of their own, as of scikit-learn's ``n_jobs``, "auto" shows nothing.
    """

    def __init__(self, verbose: Verbose) -> None:
        if verbose not in ("auto", 0, 1, 2):
            raise ValueError(f"verbose must be 'auto', True, False, 0, 1 or 2, got {verbose!r}")
        self.verbose, self.bar = verbose, None

    def __call__(self, what: str, epochs: int) -> Progress:
        self.end()
        alone = multiprocessing.current_process().name == "MainProcess"
        if self.verbose == 1 or (self.verbose == "auto" and alone):
            delay = LONG if self.verbose == "auto" else 0
            self.bar = bar(total=epochs, desc=what, unit="epoch", delay=delay, leave=False)
        return self._told

    def end(self) -> None:
        """Take the bar away."""
        if self.bar is not None:
            self.bar.close()
        self.bar = None

    def _told(self, row: dict[str, Any]) -> None:
        shown = [f"{name} {value:.5g}" for name, value in row.items() if "/" not in name]
        if self.bar is not None:
            self.bar.set_postfix_str(shown[-1], refresh=False)
            self.bar.update()
        elif self.verbose in (1, 2):
            print(", ".join(shown))
