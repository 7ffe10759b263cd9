"""Data sets. So far the one that ships with the package."""

from kafnets.data.bundled import sensorless_sample as sensorless_sample
