"""The tables of the suite, by group. PLAN.md says why these, and what is done with them."""

import functools

from kafnets import data
from kafnets.data.tables import Table

GROUPS: dict[str, tuple[str, ...]] = {
    "development": (
        "arrests",
        "diamonds",
        "german",
        "magic",
        "nlschools",
        "nox_emissions",
        "optdigits",
        "phoneme",
        "ret_school",
        "ring",
        "satimage",
        "sensorless_sample",
        "slid",
        "susy_sample",
    ),
    "confirmation": (
        "abalone",
        "budget_food",
        "chess",
        "chile",
        "computers",
        "contraceptive",
        "flchain",
        "hdma",
        "health_insurance",
        "image_segments",
        "marketing",
        "med_exp",
        "mexico",
        "mid",
        "movies",
        "nwtco",
        "page_blocks",
        "penbased",
        "phishing",
        "quakes",
        "red_wine",
        "splice",
        "star",
        "texture",
        "turnout",
        "vietnam_h",
        "working_hours",
        "yeast",
    ),
}

DIVISIONS = 5


@functools.lru_cache(maxsize=1)
def table(name: str) -> Table:
    """One of them, read once for all its divisions."""
    read = data.find(name).table
    if read is None:
        raise ValueError(f"{name} holds images: the suite is of tables")
    return read()
