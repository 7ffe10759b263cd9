"""Modules, their initialisers and presets, and regularisation."""
