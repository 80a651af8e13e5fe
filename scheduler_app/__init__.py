"""A durable scheduler: due moments become rows, rows become attempts, attempts leave evidence."""
