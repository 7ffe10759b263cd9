"""Comparing activations: runs and what runs them, statistics and tables over finished ones."""
