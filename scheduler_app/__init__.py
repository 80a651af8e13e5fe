"""A durable scheduler: due moments become rows exactly once, rows become attempts, attempts leave evidence."""
