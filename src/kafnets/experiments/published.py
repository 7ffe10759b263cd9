"""The paper's numbers. They stand beside ours and are never mixed with them."""

SENSORLESS_ACCURACY = {
    ("tanh", 1): 0.9775,
    ("tanh", 3): 0.9918,
    ("prelu", 1): 0.9848,
    ("prelu", 3): 0.9930,
    ("kaf", 1): 0.9904,
    ("kaf", 2): 0.9980,
    ("kaf2d", 1): 0.9890,
    ("kaf2d", 2): 0.9984,
}
"""Test accuracy by activation and number of hidden layers, in the text of the section on Sensorless."""
