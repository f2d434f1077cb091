"""The command `wengert`: traces of formulas, a demonstration, a check-up, and a launcher.

Begin with `commands.py`, which reads what was typed: each subcommand is a parser and a function
there. Its work is in a file of its own, imported when it is asked for: `demo.py`, `doctor.py`, and
`run.py`, which starts a script on several processes (`program.py` finds the script, `worker.py` is
one process, `actors.py` one of Ray's, `slurm.py` knows the machines of a job). A user's mistake is
a `UsageError` (`usage.py`), which says what to type; it ends with 2.

To add a command, write its parser in `commands.py` and its function beside it. It may import all of
the package; nothing imports from here.
"""

from wengert.cli.commands import main as main
