"""Names for places in the shared memory that both the workers and the captain's side use. It imports nothing."""

HEADER_WORDS = 64
SEAT_WORDS = 16
HISTORY = ("loss", "samples", "grad_norm", "lr")
"""The columns of the history, all float64."""


class Header:
    """Places in the header; beside each, who writes it."""

    READY = 0  # the leader: 1 + the step from which the state was made or loaded
    COMMITTED = 1  # the leader: steps done
    ORDERS = 2  # the leader, before it arrives: (step + 1) << 24 | changes that hold in that step << 8 | bits for it
    WISH_STOP = 3  # the captain
    WISH_SNAPSHOT = 4  # the captain: how many it has wished for so far
    SERVED_SNAPSHOT = 5  # the leader: the last wish that was ordered
    TERM = 6  # a captain, when it begins: the highest term so far
    MENDED = 7  # the leader: the epoch for which the state is mended
    SHADOW_FULL = 8  # the leader: 1 + the step whose state the shadow holds
    SHADOW_SAVED = 9  # the clerk: the last SHADOW_FULL that needs no keeping
    EVALUATED = 10  # the leader: 1 + the step that was evaluated last
    WISH_CHANGES = 11  # the captain: how many changes of the job there are
    STOP_AT = 12  # the captain: how many steps to do, if not all
    KEPT = 13  # the leader, before MENDED: replicas of the step under way that were done already
    TORN = 14  # the leader, before MENDED: pieces that it restored
    ENTERED = 15  # the leader, before MENDED: that step
    EPOCHS = 16  # NUM_EPOCHS cells, one for each captain of the last few: the newest view that it proposed
    NUM_EPOCHS = 8
    BEATS = 24  # the captain: counts up while it is not stopped


class Seat:
    """Places in a seat, all written by the worker who has it."""

    ARRIVED = 0
    UNDO = 1
    STEP = 2
    BEATS = 3
    WAITING = 4
    REPLICAS = 5
    BUSY_US = 6
    COMPUTING = 8  # (step + 1) << 24 | replica + 1 while a replica is computed, else 0
    SAVED = 7  # where the stretch of the piece under UNDO ends that may be torn; all of it, or nothing yet
