"""What the front ends for other frameworks than torch share."""
