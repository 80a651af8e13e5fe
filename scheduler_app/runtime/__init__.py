"""Processes: the loops of scheduler and worker, and the children that run attempts.

Nothing here decides what is due or what a result means for an execution; it calls services for that.
"""
