"""Pictures of what was learned. Each function returns a matplotlib figure."""

from kafnets.plot.coefficients import coefficients as coefficients
from kafnets.plot.initialization import initialization as initialization
from kafnets.plot.shapes import shapes as shapes
from kafnets.plot.shapes import stored_shapes as stored_shapes
from kafnets.plot.training import training_curves as training_curves
