"""Placement: the exact Pareto front of what can serve an intent, and why the rest cannot."""
