"""The paper's experiments: short descriptions, and what runs them."""
