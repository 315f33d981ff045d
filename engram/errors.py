"""The errors that a request can raise, and `Health`, which records lasting faults.

Each error class has an exit code and an HTTP status. A message says what happened,
where, and how to fix it. Problems in a user's text are values (`records.Problem`), not
exceptions.
"""

from __future__ import annotations


class Health:
    """The parts of a process that do not work now, each with the reason.

    Safe to use from any thread: each method does one dictionary operation.
    """

    def __init__(self) -> None:
        self._problems: dict[str, str] = {}

    def report(self, part: str, problem: str) -> None:
        """Record why `part` does not work; an empty `problem` means that it works."""
        if problem:
            self._problems[part] = problem
        else:
            self._problems.pop(part, None)

    def clear(self, part: str) -> None:
        """Record that `part` works."""
        self._problems.pop(part, None)

    def problem(self, part: str) -> str:
        """Return why `part` does not work, or ''."""
        return self._problems.get(part, "")

    def problems(self) -> dict[str, str]:
        """Return the reason for each part that does not work now."""
        return dict(self._problems)


class EngramError(Exception):
    """An error with a message for the user and a code for a program.

    `what` is the fault, `where` its place and `fix` the way to correct it.
    """

    code = "internal"
    exit_code = 1
    status = 500

    def __init__(self, what: str, *, where: str = "", fix: str = "") -> None:
        super().__init__(what)
        self.what = what
        self.where = where
        self.fix = fix

    def __str__(self) -> str:
        place = f" ({self.where})" if self.where else ""
        advice = f" {self.fix}" if self.fix else ""
        return f"{self.what}{place}.{advice}"


def unexpected(name: str, fault: Exception) -> EngramError:
    """Return the error to report for an unexpected exception.

    Its place is logged without its message, which may contain text from the vault.
    """
    import logging  # loading it would slow each call of the command line
    import traceback

    frames = traceback.extract_tb(fault.__traceback__)[-4:]
    place = " < ".join(
        f"{frame.filename}:{frame.lineno} {frame.name}" for frame in reversed(frames)
    )
    logging.getLogger("engram").error("%s: %s at %s", name, type(fault).__name__, place)
    return EngramError(
        f"{name} failed with an unexpected {type(fault).__name__}",
        fix="See the log of the daemon.",
    )


class ConfigError(EngramError):
    """The configuration is not valid; the message names all problems."""

    code = "config"
    exit_code = 78
    status = 500


class BadRequestError(EngramError):
    """The request does not have the form that the operation takes."""

    code = "bad-request"
    exit_code = 64
    status = 400


class UnauthorisedError(EngramError):
    """The request has no token, or one that is not valid."""

    code = "unauthorised"
    exit_code = 77
    status = 401


class ForbiddenError(EngramError):
    """The caller may not do this, or the path leads outside the vault."""

    code = "forbidden"
    exit_code = 77
    status = 403


class NotFoundError(EngramError):
    """There is no such memory, session or vault."""

    code = "not-found"
    exit_code = 66
    status = 404


class ConflictError(EngramError):
    """An id exists with other content, or the prefix of an id is ambiguous."""

    code = "conflict"
    exit_code = 65
    status = 409


class LockedError(EngramError):
    """Another process has locked the vault."""

    code = "locked"
    exit_code = 75
    status = 423


class MisdirectedError(LockedError):
    """Another daemon has the vault; `where` is its address."""

    code = "misdirected"
    status = 421


class BusyError(EngramError):
    """The queue is full and nothing was stored; try again after `retry_after` seconds."""

    code = "busy"
    exit_code = 75
    status = 429

    def __init__(
        self, what: str, *, retry_after: int = 1, where: str = "", fix: str = ""
    ) -> None:
        super().__init__(what, where=where, fix=fix)
        self.retry_after = retry_after


class StorageError(EngramError):
    """The disk could not be read or written; nothing was acknowledged."""

    code = "storage"
    exit_code = 74
    status = 507


class UnavailableError(EngramError):
    """The daemon is starting, stopping or not running, or may not store anything now.

    `retry_after` is the number of seconds after which to try again, or None.
    """

    code = "unavailable"
    exit_code = 69
    status = 503

    def __init__(
        self, what: str, *, retry_after: int = 0, where: str = "", fix: str = ""
    ) -> None:
        super().__init__(what, where=where, fix=fix)
        self.retry_after = retry_after


class ModelError(EngramError):
    """The language model failed, which is different from an answer without memories.

    `retryable` is true if the same batch may succeed later.
    """

    code = "model"
    exit_code = 69
    status = 502

    def __init__(
        self, what: str, *, retryable: bool = True, where: str = "", fix: str = ""
    ) -> None:
        super().__init__(what, where=where, fix=fix)
        self.retryable = retryable


class BudgetSpentError(ModelError):
    """The model budget of the day is spent; the batch waits."""

    code = "budget"
    status = 429
