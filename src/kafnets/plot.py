"""Plots of learned functions. Each function returns a matplotlib figure."""

from kafnets.inspection import style as style
from kafnets.inspection.charts import coefficients as coefficients
from kafnets.inspection.charts import initialization as initialization
from kafnets.inspection.charts import training_curves as training_curves
from kafnets.inspection.plot import embeddings as embeddings
from kafnets.inspection.plot import shapes as shapes
from kafnets.inspection.plot import stored_shapes as stored_shapes
