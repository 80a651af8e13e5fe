"""One module a command; the verbs of a command stand in the modules of the folder above."""
