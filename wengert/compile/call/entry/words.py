"""The table of an entry, as its machine code reads it: words of 8 bytes, in sections of records."""

from __future__ import annotations

from enum import IntEnum

RECORD = 20  # words


class Phase(IntEnum):
    """What few calls do: machine code of its own, made when the first entry needs it."""

    OPENED = 0
    UNWRITTEN = 1
    SETTLED = 2  # before the body it only looks, after it it acts
    NUMBER = 3
    PIECES = 4
    RECORDED = 5


class Head(IntEnum):
    """The first words of a table. From ARGUMENTS on: an address, and in the next word a count."""

    BODY = 0
    BUFFERS = 1
    BUSY = 2
    SLOW = 3
    TICK = 4  # the clock, if something is written
    REBUILD = 5
    MANY = 6
    CALLS = 7
    EMPTY = 8  # the empty tuple
    ARGUMENTS = 9  # how many are given by position
    NAMES = 10  # of the others: a tuple, or 0
    SLOTS = 11
    CONTAINERS = 13
    GUARDS = 15
    INPUTS = 17
    REGIONS = 19
    OUTPUTS = 21
    RESULTS = 23
    ALIASING = 25
    PIECES = 27
    RECORDING = 29  # one record, if results get a history
    EDGES = 31
    SAVED = 33
    RECORDED = 35
    SETTLED = 37  # the slot of the node whose leaves get the outputs, or 0
    OTHERWISE = 38  # the error by which the body says that the call is another's, or 0
    FAILED = 39  # what is called instead where the body raises anything else, or 0
    PHASES = 40  # the address of each, or 0
    WORDS = PHASES + len(Phase)


class Kind(IntEnum):
    """How to come to the object that a record is about."""

    OBJECT = 0  # the owner itself
    POINTER = 1  # what lies at an address
    ITEM = 2  # of a dict, under a key
    ELEMENT = 3  # so many bytes after the first item of a list
    ATTRIBUTE = 4
    MEMBER = 5  # an attribute of what lies at an address
    CONTEXT = 6  # what a context variable has
    OWN = 7  # that of what lies at an address, past its class
    UNCHANGED = 8  # not an object: the guards up to SEEN hold if a dict's version is LAST
    SEEN = 9  # they hold: the version is the last one seen


class Way(IntEnum):
    """How to come to the parts of a container."""

    TUPLE = 0
    LIST = 1
    DICT = 2
    ASKED = 3  # a Python function gives them in a tuple, or None


class Form(IntEnum):
    """What the object has to be, or is made to be."""

    TENSOR = 0
    ARRAY = 1
    BITS = 2  # of a number of a type that holds so many words
    FLOAT = 3
    COMPLEX = 4
    INT = 5
    BOOL = 6
    SCALAR = 7  # NumPy's number of an array of no dimensions
    SAME = 8  # as the one expected
    EQUAL = 9  # that, or one that a Python function finds equal
    OTHER = 10
    ASKED = 11  # such that a Python function agrees, or a container that has these parts
    GRADIENT = 12  # a Tensor, put where the record says
    NONE = 13  # put there


class Sight(IntEnum):
    """How a piece is made of its base."""

    ASKED = 0  # by a Python function
    ARRAY = 1
    TENSOR = 2
    COUNTED = 3  # a tensor whose writes are counted with the base's
    VIEW = 4


class History(IntEnum):
    """What the history of a tensor has to be."""

    NONE = 0  # neither it nor what it is a view of has one
    LEAF = 1
    COMPUTED = 2
    ANY = 3
    MARK = 4  # it has none, but the mark of inference mode


class Field(IntEnum):
    """The words of a record; each section uses some."""

    KIND = 0
    WAY = 0  # of a container
    OWNER = 1  # a dict, the owner of an attribute, or an address
    KEY = 2
    KEYS = 2  # of a dictionary: where they lie
    FAR = 2  # of UNCHANGED and SEEN: the bytes from the one to the other
    FORM = 3
    OBJECT = 4  # expected; or a Tensor's or node's type, or 0; or a container to look at
    OFFSET = 5  # of a piece: how many bytes after the base it begins
    BUFFER = 5  # where the buffer's address goes, or where a number lies
    DTYPE = 6
    CALL = 6  # of a view: what makes it again; of an edge and a node: the function to ask
    EQUAL = 6  # of a guard: the function to ask
    SIGHT = 7  # of a piece
    TYPE_NUMBER = 7
    NDIM = 8  # of a piece that is all of its base: -1
    COUNT = 8  # of a container's parts, a number's words, or a node's slots
    DIMENSIONS = 9
    LEAST = 9  # of an int
    PARTS = 9  # the slots of a container's parts; or where those that it must have lie; or pairs
    # of a node's slot and what is put there
    CREATION = 10  # of a view: why it may not be written, or None
    FLAGS = 10  # that an array must have
    GREATEST = 10  # of an int
    WRITES = 11  # by how much a tensor's version goes up
    NODE = 11  # of an output: the history that it gets
    HISTORY = 12  # of an input
    KEPT = 12  # of an output: the place of references to arrays given out before, if any are kept
    ORIGIN = 13  # of an output: the mark that it gets
    LAST = 13  # where an input's data was at the last call
    ARRAY = 14  # while a call runs
    MADE = 15  # while a call runs: an output's object, or a container's parts; ours
    FOUND = 15  # while a call runs: an input's object
    CLOCK = 16  # of a view, a node: to be called for the time at which it is taken
    WROTE = 16  # to be called with it, if something is written
    STRIDES = 18  # that an array must have; 0 if it is row-major, -1 if any will do
    COPY = 17  # while a call runs: of an input that is not laid out as the body reads it; ours
    SINCE = 19  # the slot of the node since which nothing may have written to an input; or 0


class Span(IntEnum):
    """The words of a region."""

    BUFFER = 0  # where its address is put
    NBYTES = 1
    WRITTEN = 2  # all bits, or none
    BEGIN = 3  # while it is looked at
    WORDS = 4
