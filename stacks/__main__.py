"""The program of every stack of this project."""

from emporion.components.program import run

run()
