"""Placement: the exact Pareto front of what can serve one intent, why the rest cannot, and what would have to change.

::

    choose          one intent on one catalogue: which offers pass, what is searched, placements made of what is found
      constraints, quotas, demand             what is asked of each offer, and of all machines together
      search, nodes, groups, counts, bounds   the front, best first; scoring, staircase, candidates, front: its parts
      model, joins                            placements, and what joins their nodes
    prefer          which of a front is recommended
    reasons         why an offer is in no placement; rejections: all of them, counted
    relax           the smallest changes that help; knobs, nearest, smallest: how they are found
    infeasible      the error that tells them
"""
