"""The command ``rvsim``: exit codes, and one line for each error.

Results go to stdout; progress, notes and errors go to stderr, as lines that begin with ``rvsim:``.
"""

from __future__ import annotations

import errno
import io
import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from typing import Final, NoReturn

import click

from rvsim.cli.group import rvsim
from rvsim.errors import RvsimError
from rvsim.printable import printable_lines

USAGE: Final = 2
INTERNAL: Final = 125
INTERRUPTED: Final = 130
BROKEN_PIPE: Final = 141
"""128 + SIGPIPE: the code that a shell shows for a program whose reader is gone."""
_CANNOT_WRITE: Final = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EBADF})
"""Errors of writing to stdout; other files raise `RvsimError` where they are written."""


def main(args: Sequence[str] | None = None) -> NoReturn:
    """Run the command line and exit."""
    _open_streams()
    code = run(list(sys.argv[1:] if args is None else args))
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        code = _reader_gone()
    except OSError as error:
        code = _cannot_write(error)
    sys.exit(code)


def _open_streams() -> None:
    """Replace closed streams (``>&-``), which are None; writing to a closed stdout is an error.

    Characters outside the terminal's encoding become question marks.
    """
    if sys.stdout is None:
        sys.stdout = open(os.open(os.devnull, os.O_RDONLY), "w", encoding="utf-8")  # noqa: SIM115
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
    if isinstance(sys.stdout, io.TextIOWrapper) and sys.stdout.errors == "strict":
        sys.stdout.reconfigure(errors="replace")


def run(args: list[str]) -> int:
    """Run the command line; returns the exit code."""
    if not args:
        click.echo(
            rvsim.get_help(click.Context(rvsim, info_name="rvsim", **rvsim.context_settings)),
            err=True,
        )
        return USAGE
    try:
        # Not rvsim.main(), which handles broken pipes and Ctrl-C in another way.
        with rvsim.make_context("rvsim", args) as ctx:
            result = rvsim.invoke(ctx)
        return result if isinstance(result, int) else 0
    except click.exceptions.Exit as done:
        return done.exit_code
    except RvsimError as error:
        _say(str(error))
        _discard_output()
        return error.exit_code
    except click.ClickException as error:
        return _fail(_usage_text(error))
    except (KeyboardInterrupt, click.Abort) as stop:
        _say(str(stop) or "interrupted")
        return getattr(stop, "exit_code", INTERRUPTED)
    except BrokenPipeError:
        return _reader_gone()
    except OSError as error:
        is_output = error.filename is None and error.errno in _CANNOT_WRITE
        return _cannot_write(error) if is_output else _internal(error)
    except MemoryError:
        return _fail("the host has no memory left for this: see ulimit -v, and free")
    except Exception as error:
        return _internal(error)


def _say(text: str) -> None:
    """Print a line to stderr; if that fails, the exit code must be enough."""
    with suppress(OSError):
        click.echo(printable_lines(f"rvsim: {text}"), err=True)


def _fail(text: str) -> int:
    _say(text)
    return USAGE


def _usage_text(error: click.ClickException) -> str:
    """click's message in rvsim's form: no capital, no full stop, then a suggestion."""
    if isinstance(error, click.exceptions.NoSuchOption):
        return f"no such option '{error.option_name}'{_suggestion(error.possibilities)}"
    text = " ".join(error.format_message().split()).rstrip(".")
    return text[:1].lower() + text[1:]


def _suggestion(possibilities: Sequence[str] | None) -> str:
    return f": did you mean '{possibilities[0]}'?" if possibilities else ""


def _cannot_write(error: OSError) -> int:
    code = _fail(f"cannot write to standard output: {error.strerror}")
    _discard_output()
    return code


def _reader_gone() -> int:
    """Nobody reads stdout: end quietly, also when Python flushes it at exit."""
    _discard_output()
    return BROKEN_PIPE


def _discard_output() -> None:
    """Discard output that a stream cannot take, so that Python's exit makes no second error."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            os.dup2(nowhere, stream.fileno())
    os.close(nowhere)


def _internal(error: Exception) -> int:
    """A fault of rvsim itself, not of the user or the guest."""
    text = " ".join(f"{type(error).__name__}: {error}".split())
    if os.environ.get("RVSIM_DEBUG"):
        import traceback

        traceback.print_exc()
        _say(f"internal error: {text}")
    else:
        _say(f"internal error: {text} (RVSIM_DEBUG=1 shows the traceback)")
    return INTERNAL
