"""The command line: `quiltwork demo | learn | evaluate | compare | rank | query | sample | convert | info | view`.

    app       the commands: their arguments, options and help
    options   a learner's parameters as options, read from their declaration
    inputs    what the user names: tables, votes, models, evidence
    show      what the user sees: tables, progress bars, JSON
    learning  learn, evaluate
    comparing compare
    judging   what evaluate and compare judge by: metrics and protocols
    ranking   rank
    asking    query, sample, convert
    looking   info
    viewing   view, serve
    demo      the tour on embedded data

Here is only the way out. A command that fails says one sentence on stderr and leaves with a code:

    0    done
    1    a mistake of ours; `python -X dev -m quiltwork ...` shows where
    2    input that cannot be used, a file that cannot be read or written, wrong usage, no memory
    130  interrupted by Ctrl-C
    141  the reader of our output went away
"""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Sequence
from typing import Any

from quiltwork.errors import ConvergenceWarning, DataWarning, QuiltworkError


def main(arguments: Sequence[str] | None = None) -> None:
    """Run one command and leave the process with its exit code."""
    _heed_every_interrupt()
    sys.exit(run(sys.argv[1:] if arguments is None else arguments))


def _heed_every_interrupt() -> None:
    """Python prints and drops an interrupt that falls into a destructor; here it is sent again, a moment later."""
    if os.name != "posix":
        return
    usual = sys.unraisablehook

    def hook(dropped: Any) -> None:
        if dropped.exc_type is not KeyboardInterrupt:
            return usual(dropped)
        import signal
        import threading

        again = threading.Timer(0.1, signal.pthread_kill, (threading.main_thread().ident, signal.SIGINT))
        again.daemon = True
        again.start()

    sys.unraisablehook = hook


def run(arguments: Sequence[str]) -> int:
    """Run one command and return its exit code.

    >>> run(["--version"])
    quiltwork 0.1.0
    0
    """
    try:
        with warnings.catch_warnings():
            _show_notes()
            return _run(arguments)
    except KeyboardInterrupt:
        exec("")  # or `python -m`, if it was interrupted while it ran code from a string, dies of the signal at its end
        return _say(f"Interrupted; {_what_was_written()}.", 130)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # or Python complains while it closes
        return 141
    except MemoryError:
        return _say("There is not enough memory for this; fewer rows, columns or states need less.", 2)
    except QuiltworkError as error:
        return _say(str(error), 2)
    except OSError as error:
        name = f" {str(error.filename)!r}" if error.filename is not None else ""
        return _say(f"The system refused{name}: {error.strerror or error}.", 2)
    except Exception as error:
        if hasattr(error, "format_message"):  # wrong usage, as typer and click tell it
            return _say(f"{error.format_message().rstrip('.')} (see {_usage_of(error)} --help).", 2)
        if sys.flags.dev_mode:
            raise
        return _say(
            f"Quiltwork made a mistake ({type(error).__name__}: {error}); "
            f"'python -X dev -m quiltwork ...' shows where, please report it.",
            1,
        )


def _run(arguments: Sequence[str]) -> int:
    import typer

    from quiltwork.cli.app import app
    from quiltwork.cli.show import written

    written.clear()
    command = typer.main.get_command(app)
    try:
        # Not `command.main`, which would turn Ctrl-C and broken pipes into its own exceptions.
        with command.make_context("quiltwork", list(arguments)) as context:
            command.invoke(context)
    except typer.Exit as leave:
        return leave.exit_code
    finally:
        sys.stdout.flush()
    return 0


def _show_notes() -> None:
    """Warnings become notes; ours are shown whatever Python was told about warnings, each of them once."""
    shown = set()

    def note(message: Any, category: Any, filename: str, lineno: int, file: Any = None, line: Any = None) -> None:
        if str(message) not in shown:
            shown.add(str(message))
            _say(f"Note: {message}")

    warnings.showwarning = note
    for category in (DataWarning, ConvergenceWarning):
        warnings.simplefilter("always", category)


def _say(sentence: str, code: int = 0) -> int:
    from quiltwork.cli.show import one_line

    sys.stderr.write(one_line(sentence) + "\n")
    return code


def _what_was_written() -> str:
    from quiltwork.cli.show import written

    return f"{' and '.join(map(str, written))} had been written" if written else "nothing was written"


def _usage_of(error: Exception) -> str:
    context = getattr(error, "ctx", None)
    return context.command_path if context is not None else "quiltwork"
