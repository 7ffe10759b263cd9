"""One self-contained page about a folder of runs."""

from kafnets.report.page import write as write
