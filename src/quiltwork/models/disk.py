"""Files on the disk: read only when they are ordinary files, written whole or not at all.

`write_atomically` is the one way in which the library writes a file, be it a model or an export.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import secrets
import stat
from collections.abc import Iterator
from io import BufferedReader

from quiltwork.errors import InputError, QuiltworkError

OTHER_FORMATS = (".bif", ".xmlbif", ".xml", ".bifxml", ".uai", ".mn", ".bn", ".dn")  # of networks; .gz may follow


@contextlib.contextmanager
def open_file(path: str | os.PathLike[str], complaint: type[QuiltworkError]) -> Iterator[tuple[BufferedReader, int]]:
    """An ordinary file, open for reading, and its size; anything else raises `complaint` unread.

    >>> with open_file(".", InputError):
    ...     pass
    Traceback (most recent call last):
    quiltwork.errors.InputError: '.' is a directory; give the name of a file.
    """
    shown = repr(os.fspath(path))
    try:
        info = os.stat(path)
        file = open(path, "rb") if stat.S_ISREG(info.st_mode) else None  # noqa: SIM115
    except FileNotFoundError:
        raise complaint(f"There is no file {shown}.") from None
    except OSError as error:
        raise complaint(f"{shown} cannot be read: {error.strerror}.") from None
    except ValueError as error:  # a name that no file can have
        raise complaint(f"{shown} cannot be the name of a file: {error}.") from None
    if file is None and stat.S_ISDIR(info.st_mode):
        raise complaint(f"{shown} is a directory; give the name of a file.")
    if file is None:
        raise complaint(f"{shown} is a pipe or a device, not an ordinary file.")
    with file:
        yield file, info.st_size


def write_atomically(path: str | os.PathLike[str], data: bytes) -> None:
    """Write a file so that, whatever happens, either the old or the new content is there, complete.

    The bytes go to a temporary file in the same directory, are forced to the disk, and take the name of the target in
    one step. Temporary files that killed processes left behind for the same target are removed on the way.

    >>> write_atomically("no such folder/model.qw", b"...")
    Traceback (most recent call last):
    quiltwork.errors.InputError: Cannot write 'no such folder/model.qw': there is no directory 'no such folder'.
    """
    shown = repr(os.fspath(path))
    if os.path.isdir(path):
        raise InputError(f"Cannot write {shown}: it is a directory; give the name of a file.")
    if os.path.exists(path) and not os.path.isfile(path):
        raise InputError(f"Cannot write {shown}: it is a pipe or a device, not an ordinary file.")
    try:
        _replace(os.path.realpath(path), data)  # a link stays a link
    except OSError as error:
        raise InputError(f"Cannot write {shown}: {_reason(error, os.fspath(path), len(data))}.") from None
    except ValueError as error:  # a name that no file can have
        raise InputError(f"Cannot write {shown}: {error}.") from None


def _replace(target: str, data: bytes) -> None:
    folder, name = os.path.split(target)
    _sweep(folder, name)
    mode = 0o666
    if os.path.exists(target):
        mode = stat.S_IMODE(os.stat(target).st_mode)
        if not os.access(target, os.W_OK):  # replacing a file needs no leave to write it, but we ask for it
            raise PermissionError(errno.EACCES, "")
    temporary = os.path.join(folder, f".{name}.{os.getpid()}-{secrets.token_hex(4)}.tmp")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), mode)
    try:
        try:
            rest = memoryview(data)
            while rest:
                rest = rest[os.write(descriptor, rest) :]
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        os.replace(temporary, target)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise
    with contextlib.suppress(OSError):  # some systems cannot force a directory to the disk; the file is whole anyway
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _sweep(folder: str, name: str) -> None:
    """Remove the temporary files of processes that died while they wrote the same target."""
    ours = re.compile(re.escape(f".{name}.") + r"(\d+)-[0-9a-f]{8}\.tmp")
    with contextlib.suppress(OSError):  # tidying is no reason to fail
        for other in os.listdir(folder):
            found = ours.fullmatch(other)
            if found and not _alive(int(found[1])):
                os.unlink(os.path.join(folder, other))


def _alive(process: int) -> bool:
    if os.name != "posix":  # elsewhere asking means killing
        return True
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except OSError:
        pass
    return True


def _reason(error: OSError, path: str, n_bytes: int) -> str:
    folder = os.path.dirname(path) or "."
    if error.errno in (errno.ENOENT, errno.ENOTDIR):
        return f"there is no directory {folder!r}"
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return f"the disk is full ({n_bytes} bytes are needed); what was there before is untouched"
    if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        return "you have no permission to write there"
    return f"{error.strerror or error}; what was there before is untouched"
