"""The command `wengert`, and the demo that it runs."""

from wengert.cli.commands import main as main
