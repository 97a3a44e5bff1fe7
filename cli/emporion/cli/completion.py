"""`emporion completion`: the shell's completion script."""

from __future__ import annotations

import click

__all__ = ["completion"]


@click.command(short_help="Print the completion script of a shell.")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> None:
    """Print the completion script of a shell.

    \b
    bash: eval "$(emporion completion bash)"
    zsh:  eval "$(emporion completion zsh)"
    fish: emporion completion fish | source
    """  # noqa: D301 - \b is click's mark for text that keeps its lines
    from click.shell_completion import get_completion_class

    from emporion.cli.main import root

    kind = get_completion_class(shell)
    if kind is None:
        message = f"click knows no completion for {shell}"
        raise RuntimeError(message)
    names = kind(root, {}, "emporion", "_EMPORION_COMPLETE").source_vars()
    click.echo((kind.source_template % names).strip())
