"""Command groups whose error for an unknown command lists the existing ones."""

from __future__ import annotations

from typing import Any

from typer.core import TyperGroup

from leaderboards.cli.errors import UserError

__all__ = ["Commands"]

_BEGINNING = 3


class Commands(TyperGroup):
    """A group whose error for an unknown command names the closest one, or all."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """As in Typer.

        Raises:
            UserError: if there is no such command.
        """
        known = self.list_commands(ctx)
        if args and args[0] not in known and not args[0].startswith("-"):
            from gpbandit_envs.arguments import did_you_mean  # here: `gpbandit --help` needs no NumPy

            begun = [name for name in known if name[:_BEGINNING] == args[0][:_BEGINNING]]  # environments, for envs
            hint = did_you_mean(args[0], known, f"did you mean {begun[0]!r}?" if begun else None)
            raise UserError(f"{ctx.command_path}: no command {args[0]!r}; {hint}")
        return super().resolve_command(ctx, args)
