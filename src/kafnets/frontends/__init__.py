"""What the front ends for other frameworks share: the formulas over any array library, and the exchange."""
