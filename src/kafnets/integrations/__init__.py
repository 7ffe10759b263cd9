"""Names of this package's activations in libraries that build models: one file per library."""
