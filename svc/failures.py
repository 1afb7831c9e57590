"""Errors out of tasks: what went wrong inside nested groups."""


def single(error: BaseException) -> BaseException:
    """The one error inside nested groups of one; a group of several stays as it is."""
    while isinstance(error, BaseExceptionGroup) and len(error.exceptions) == 1:
        error = error.exceptions[0]
    return error
