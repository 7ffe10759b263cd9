"""The paper: its experiments, published numbers, figures, tables and claims, from the stored runs."""
