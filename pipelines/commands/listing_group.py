"""A group of commands that lists what it is about if none of them is named, as ``git branch``."""

import click


class ListingGroup(click.Group):
    """A group in which no subcommand, or an option in its place, stands for ``list``."""

    def collect_usage_pieces(self, ctx: click.Context) -> list[str]:
        """Return the usage, in which the subcommand is optional."""
        return ["[list] [OPTIONS]", "| COMMAND [ARGS]..."]

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read the arguments; whoever completes them in a shell still chooses the subcommand."""
        is_list = not args or (args[0].startswith("-") and args[0] not in ctx.help_option_names)
        if is_list and not ctx.resilient_parsing:
            args = ["list", *args]
        return super().parse_args(ctx, args)
