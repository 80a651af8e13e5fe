"""Every read for people and programs: bounded, paged by key, never a count over history and never a write."""
