"""The reads, on both databases."""
