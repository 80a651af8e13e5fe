"""The pages: each view parses, calls one service or query, and renders. Nothing here decides or writes."""
