"""Pictures of activations, one module a family: the same stem as in src/kafnets/zoo and docs/zoo."""
