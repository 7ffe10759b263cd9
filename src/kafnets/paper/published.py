"""The numbers that the paper publishes."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Published:
    """The published numbers for one activation and depth."""

    mean: float
    deviation: float | None = None
    parameters: int | None = None

    def __str__(self) -> str:
        return f"{self.mean:.4f}" + ("" if self.deviation is None else f" ± {self.deviation}")


NAMES = {
    "relu": "ReLU",
    "elu": "ELU",
    "selu": "SELU",
    "prelu": "PReLU",
    "apl": "APL",
    "saf": "SAF",
    "maxout": "Maxout",
    "kaf": "KAF",
    "kaf2d": "2D-KAF",
}
"""What the paper's tables call activations."""


REVIEWED = (
    *("kaf", "kaf2d"),
    *("sigmoid", "tanh", "relu", "softplus", "leaky_relu", "elu", "selu", "swish"),
    *("generalized_tanh", "prelu", "pelu", "srelu", "beta_swish"),
    *("apl", "paf", "hermite", "saf", "maxout", "soft_maxout", "lp_maxout", "lp_unit"),
    *("rrelu", "noisy_hard_tanh", "noisy_hard_sigmoid"),
    *("crelu", "order_statistic", "multi_bias", "network_in_network"),
)
"""What the paper proposes or reviews: the registered names that its tables are about."""


def shown_name(label: str) -> str:
    """As the paper has it, if it does."""
    return NAMES.get(label, label)


Table = dict[tuple[str, int], Published]
"""By label and number of layers."""

SENSORLESS: Table = {
    ("tanh", 1): Published(0.9775),
    ("tanh", 3): Published(0.9918),
    ("prelu", 1): Published(0.9848),
    ("prelu", 3): Published(0.9930),
    ("kaf", 1): Published(0.9904),
    ("kaf", 2): Published(0.9980),
    ("kaf2d", 1): Published(0.9890),
    ("kaf2d", 2): Published(0.9984),
}
"""Test accuracy, in the text of the section on Sensorless."""

SUSY: Table = {
    ("relu", 5): Published(0.8739, 0.001, 367_201),
    ("elu", 5): Published(0.8739, 0.001, 367_201),
    ("selu", 5): Published(0.8745, 0.002, 367_201),
    ("prelu", 5): Published(0.8748, 0.001, 368_701),
    ("maxout", 1): Published(0.8744, 0.001, 17_401),
    ("maxout", 2): Published(0.8744, 0.002, 288_301),
    ("apl", 1): Published(0.8744, 0.002, 7_801),
    ("apl", 2): Published(0.8757, 0.002, 99_901),
    ("kaf", 1): Published(0.8756, 0.001, 12_001),
    ("kaf", 2): Published(0.8758, 0.001, 108_301),
    ("kaf2d", 1): Published(0.8750, 0.001, 20_851),
    ("kaf2d", 2): Published(0.8764, 0.002, 81_151),
}
"""Test AUC on all 5,000,000 rows: Table 2."""

CIFAR10: Table = {}
"""None: the paper shows accuracies in a figure only, without numbers."""
