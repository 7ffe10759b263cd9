"""What the activations cost, measured side by side. Run it with ``kafnets bench``."""
