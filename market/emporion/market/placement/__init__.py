"""Placement: the exact Pareto front of what can serve an intent, and why the rest cannot.

::

    planning       make_plan: from an intent and a catalogue to a Plan
      choose       one intent: which offers pass, what is searched, placements made of what is found
        constraints, quotas, demand             what is asked of each offer, and of all machines together
        search, nodes, groups, counts, bounds   the front, best first; scoring, staircase, candidates, front: its parts
      prefer, recommendation                    which one, and why
      reasons, rejections                       why not the others
      relax, knobs, nearest, smallest           the smallest changes; infeasible: the error that tells them
      advice, assumptions, bases                what to know before one relies on it
    document, picture, explain_document         a plan as JSON
    explain, offer_names                        one offer through every constraint
    pinning, stale, diff                        what is kept, until when, and what has changed since
"""
