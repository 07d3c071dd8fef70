"""``sankofa completion``: the script with which a shell completes the command."""

import click
from click.shell_completion import get_completion_class

_SHELLS = {
    "bash": "~/.bashrc",
    "zsh": "~/.zshrc",
    "fish": "~/.config/fish/config.fish",
}


@click.command(
    epilog='\b\nFor this shell only:  eval "$(sankofa completion bash)"\n'
    + "\n".join(
        f"For every {shell}:       sankofa completion {shell} >> {file}"
        for shell, file in _SHELLS.items()
    )
)
@click.argument("shell", type=click.Choice(tuple(_SHELLS)))
@click.pass_context
def completion(context: click.Context, shell: str) -> None:
    """Print the script that completes this command in SHELL."""
    kind = get_completion_class(shell)
    assert kind is not None
    click.echo(kind(context.find_root().command, {}, "sankofa", "_SANKOFA_COMPLETE").source())
