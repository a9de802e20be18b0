"""Every error that a user can cause or must understand: one tree, one sentence each, one exit code each."""


class HoldfastError(Exception):
    """Base of all errors shown to users; its text is one sentence: what is wrong, the value, what to do instead."""

    exit_code = 1


class JobError(HoldfastError):
    """The job as written cannot be used: an unknown field, a wrong type, a missing file."""

    exit_code = 2


class DataError(HoldfastError):
    """The data cannot be read or do not fit the job."""

    exit_code = 3


class ModelError(HoldfastError):
    """The model cannot be imported, built, trained or loaded."""

    exit_code = 4


class ResourceError(HoldfastError):
    """The machine has too little of something: memory, disk, cores, a port."""

    exit_code = 5


class RunError(HoldfastError):
    """Training itself failed: a loss that is not finite, a crew that cannot be kept alive."""

    exit_code = 6


class LedgerError(HoldfastError):
    """The ledger cannot be used, or does not know what was asked for."""

    exit_code = 7


class CheckpointError(HoldfastError):
    """A checkpoint could not be written, or none that is whole was found."""

    exit_code = 8


class Stopped(HoldfastError):
    """The run was stopped on purpose before its last step; it can be resumed."""

    exit_code = 130
