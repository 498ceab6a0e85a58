"""The runtime check of nodes: what a job needs is there, and is the same on all of them.

Read in this order: ``main`` (the modes), ``checks`` (what one node finds), ``table`` (what all nodes together mean),
``gather`` (how tasks of one srun find each other), ``launch`` (how one command checks a partition), ``batch_file``.
"""
