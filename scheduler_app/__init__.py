"""A durable scheduler: due moments become rows, rows become attempts, attempts leave evidence."""

__version__ = "0.1.0"
