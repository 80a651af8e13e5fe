"""The Django project: settings, the environment they come from, and the root of the URLs."""
