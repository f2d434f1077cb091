"""The host as a target: LLVM modules become machine code here, once per machine and IR.

`compile_module` takes an `llvmlite.ir.Module` and returns a `Code`, whose functions live as long as
it does. Code is shared in memory while in use, and kept on disk across processes (`cache.py`),
under a hash of the IR; so IR must not hold addresses of this process. `compile_text` hashes what
the IR is written from, and does not write it where the code is kept. What a module calls outside
itself it declares by name:

    blas.sgemm              a routine of SciPy's BLAS
    python.PyErr_Occurred   a function or object of CPython's C API
    parallel                what lets threads share the work (`threads.py`)
    anything else           what `register` was told, or the process has: memcpy, fmod
"""

from __future__ import annotations

import ctypes
import functools
import hashlib
import io
import itertools
import json
import os
import re
import sys
import threading
import time
import weakref
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import llvmlite.binding as llvm
from llvmlite import ir

from wengert.history import cache, forks
from wengert.history.uncollected import uncollected

LEVEL = 2
"""How hard LLVM tries when it chooses instructions and registers, 0 to 3."""
PASSES = "always_inliner", "sroa", "instruction_combine", "simplify_cfg", "aggressive_dce"
"""What is done before that. Loops are written with vectors, hoisted and unrolled already, so most
of LLVM's usual pipeline finds nothing: values known before, or stored for nothing, neither. What
goes round in a loop of bodies for nothing, as working memory did before it was registers, is."""
FEW = "always_inliner", "sroa", "simplify_cfg"
"""Enough for code that reads objects and calls functions: the others make it no faster."""
USUAL = ("usual",)
"""LLVM's own pipeline at its third level, for loops that are somebody's text: nothing in them is
hoisted, chosen once for all rounds, or in vectors. And for loops of bodies, which are joined of
many steps. But for unrolling, for which a loop of few rounds pays more than it gains."""

# llvmlite fills a table of characters when it first writes a text, and other threads that write
# theirs in the meantime find half of it (KeyError). Nobody else runs while a module is imported.
str(ir.Module().add_metadata(["x"]))

_JIT_LINK = sys.platform != "win32"  # LLVM's newer linker knows ELF and Mach-O
_LIBRARIES = 1000


@dataclass(frozen=True, slots=True)
class Host:
    """The processor that code is made for, as LLVM names it."""

    triple: str
    cpu: str
    features: str

    def has(self, feature: str) -> bool:
        return f"+{feature}" in self.features.split(",")


@functools.cache
def host() -> Host:
    """This machine."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    try:
        features = llvm.get_host_cpu_features().flatten()
    except RuntimeError:  # LLVM cannot tell on every system: then what the name implies holds
        features = ""
    return Host(llvm.get_process_triple(), llvm.get_host_cpu_name(), features)


@functools.cache
def vector_bytes() -> int:
    """The width of a vector register: 64 with AVX-512, 32 with AVX2, else 16."""
    here = host()
    if all(here.has(f"avx512{part}") for part in ("f", "bw", "dq", "vl")):
        return 64
    return 32 if here.has("avx2") else 16


def _target_machine() -> Any:
    here = host()
    target = llvm.Target.from_triple(here.triple)
    if _JIT_LINK:  # it reaches far symbols through stubs, so constants may lie near the code
        return target.create_target_machine(
            here.cpu, here.features, opt=LEVEL, reloc="pic", codemodel="small", jit=True
        )
    return target.create_target_machine(here.cpu, here.features, opt=LEVEL, jit=True)


# One for all compilations: they are made one at a time.
_shared_target_machine = functools.cache(_target_machine)


# ---- symbols -------------------------------------------------------------------------------

_registered: dict[str, int] = {}


def register(name: str, address: int) -> None:
    """Let modules declare, under this name, the function or object at this address.

    A name keeps its meaning for the whole process: code that is linked already uses the first.
    """
    _registered[name] = address


@functools.cache
def blas(name: str) -> int:
    """The address of a routine of SciPy's BLAS: arguments by address, integers of 32 bits.

    Matrices are column-major, as in Fortran.
    """
    from scipy.linalg import cython_blas

    capsule = cython_blas.__pyx_capi__.get(name)
    if capsule is None:
        raise ValueError(
            f"SciPy's BLAS has no routine {name!r}. Names are in lower case with the type's letter "
            "in front, such as sgemm, dgemm, cgemm, zgemm, sgemv."
        )
    return capsule_pointer(capsule)


def capsule_pointer(capsule: Any) -> int:
    """The address that a PyCapsule holds."""
    api = ctypes.pythonapi
    name = ctypes.PYFUNCTYPE(ctypes.c_char_p, ctypes.py_object)(("PyCapsule_GetName", api))
    pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
        ("PyCapsule_GetPointer", api)
    )
    return int(pointer(capsule, name(capsule)))


FAST = 0x0080  # METH_FASTCALL


class Method(ctypes.Structure):
    """CPython's PyMethodDef: what builtin functions read as long as they live."""

    _fields_ = (
        ("name", ctypes.c_char_p),
        ("function", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    )

    def of(self, owner: Any) -> Callable[..., Any]:
        """The builtin function that gets this object as its `self`."""
        return _new_function()(ctypes.addressof(self), owner, None)


@functools.cache
def _new_function() -> Callable[[int, Any, None], Any]:
    make = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p)
    return make(("PyCFunction_NewEx", ctypes.pythonapi))


@functools.cache
def python(name: str) -> int:
    """The address of a function or object of CPython's C API."""
    return ctypes.addressof(ctypes.c_char.in_dll(ctypes.pythonapi, name))


def _address(name: str) -> int | None:
    """Where an external name of a module lies; None leaves it to the process."""
    family, _, member = name.partition(".")
    if family == "blas":
        return blas(member)
    if family == "python":
        return python(member)
    if name == "parallel":
        from wengert.compile.llvm.machine import threads  # which is compiled here

        return threads.address()
    return _registered.get(name)


def dismantle(module: ir.Module) -> None:
    """Take a module apart that is needed no more: its thousands of objects point to one another,
    and would stay until the cycle collector comes.
    """
    for value in module.global_values:
        for block in getattr(value, "blocks", ()):
            for instruction in block.instructions:
                vars(instruction).clear()
            vars(block).clear()
        vars(value).clear()
    vars(module).clear()


def _names(module: ir.Module) -> tuple[list[str], list[str]]:
    """What a module defines for others, and what it uses and does not define."""
    defined, external = [], []
    for value in module.global_values:
        if value.name.startswith("llvm."):
            continue
        if value.is_declaration if isinstance(value, ir.Function) else value.initializer is None:
            external.append(value.name)
        elif value.linkage not in ("internal", "private"):
            defined.append(value.name)
    return defined, external


# ---- compiling -----------------------------------------------------------------------------


class Code:
    """The machine code of a module. Addresses are good as long as this object lives."""

    __slots__ = ("__weakref__", "_engine", "_library", "name")

    def __init__(self, engine: Any, library: Any, name: str) -> None:
        self._library = library  # is to go before the engine does
        self._engine = engine
        self.name = name

    def address(self, symbol: str) -> int:
        """Where a function or global of the module begins."""
        try:
            return int(self._library[symbol])
        except KeyError:
            raise KeyError(f"The compiled module {self.name!r} defines no {symbol!r}.") from None


forks.waited_for(llvm.ffi.lib._lock._lock, by_finalizers=True)  # llvmlite's: code that dies
_lock = forks.waited_for(threading.RLock())
_live: weakref.WeakValueDictionary[bytes, Code] = weakref.WeakValueDictionary()


Written = tuple[str, tuple[list[str], list[str]]]
"""The text of a module, and its names: see `_names`."""


def compile_module(module: ir.Module, name: str, passes: Sequence[str] = PASSES) -> Code:
    """Machine code for this host; the same module is compiled once."""
    written = text, _ = _written(module)
    return _compiled(text, lambda: written, name, passes)


def compile_text(
    source: str, write: Callable[[], ir.Module], name: str, passes: Sequence[str] = PASSES
) -> Code:
    """Machine code of a module that need not be written where it is kept: `source` says all that
    it depends on, apart from the text of what writes it.
    """
    own = "".join([_text(folder) for folder in _WRITERS])
    if not own:  # Python runs without it: what is written says as much, but takes longer
        return compile_module(write(), name, passes)

    def written() -> Written:
        module = write()
        text = _written(module)
        dismantle(module)
        return text

    return _compiled(f"{own}\n{source}", written, name, passes)


_WRITERS = [Path(__file__).parents[2], Path(__file__).parents[3] / "rules"]
"""All that writes modules is in `compile/`, and takes numbers of rules; not of other folders."""


@functools.cache
def _text(folder: Path) -> str:
    """A digest of the program text in a folder; empty where there is none.

    To read it all takes longer than to see when it was written: by that the digest is kept.
    """
    files = {entry.path: entry.stat() for entry in _files(folder)}
    states = [files[path] for path in sorted(files)]
    written = [(s.st_size, s.st_mtime_ns, s.st_ctime_ns, s.st_ino) for s in states]
    key = cache.digest(repr((sorted(files), written)).encode()).hex()
    known = cache.read(key) if files else b""
    if known is not None:
        return known.decode()
    texts = b"".join([_content(file) for file in sorted(files)])
    digest = cache.digest(texts, 20).hex()
    if max(s.st_ctime for s in states) < time.time() - _CLOCK:
        cache.write(key, digest.encode())
    return digest


def _content(path: str) -> bytes:
    """In less than two thirds of the time of `read_bytes`."""
    with io.FileIO(path) as file:
        return file.readall()


_CLOCK = 2.0
"""Seconds in which a file may be written twice, and look as if it were once."""


def _files(folder: Any) -> Iterator[os.DirEntry[str]]:
    """Python's files in a folder and those in it."""
    try:
        entries = list(os.scandir(folder))
    except OSError:
        return
    for entry in entries:
        if entry.is_dir() and entry.name != "__pycache__":
            yield from _files(entry.path)
        elif entry.name.endswith(".py"):
            yield entry


def _written(module: ir.Module) -> Written:
    module.triple = host().triple
    return str(module), _names(module)


def _compiled(source: str, write: Callable[[], Written], name: str, passes: Sequence[str]) -> Code:
    """The code that lives, is on disk, or is compiled of what is written."""
    settings = f"{host()} {LEVEL} {passes} {_JIT_LINK} {llvm.llvm_version_info}"
    key = hashlib.blake2b(f"{settings}\n{source}".encode(), digest_size=20).digest()
    with _lock:
        code = _live.get(key)
        if code is None:
            make = functools.partial(_made, key.hex(), write, name, passes)
            code = _live[key] = _cached(key.hex(), make, name)
        return code


def _cached(key: str, make: Callable[[], Code], name: str) -> Code:
    code = _kept(key, name)
    if code is None:
        with cache.turn(key):  # of processes that start together one compiles
            code = _kept(key, name) or make()
    return code


def _kept(key: str, name: str) -> Code | None:
    data = cache.read(key)
    if data is None:
        return None
    names, _, machine = data.partition(b"\n")
    try:
        return _link(machine, json.loads(names), name)
    except (RuntimeError, ValueError):  # whole, but no code that fits here: compile it again
        return None


@uncollected()  # a module has thousands of objects
def _made(key: str, write: Callable[[], Written], name: str, passes: Sequence[str]) -> Code:
    text, defined = write()
    machine = _object_of(text, passes)
    code = _link(machine, defined, name)
    cache.write(key, json.dumps(defined).encode() + b"\n" + machine)
    return code


def _object_of(text: str, passes: Sequence[str] = PASSES) -> bytes:
    return bytes(_shared_target_machine().emit_object(optimized(text, passes)))


def object_file(module: ir.Module) -> bytes:
    """A module as an object file: routines of BLAS have the names that Fortran gives them."""
    text, _ = _written(module)
    with _lock:
        return _object_of(re.sub(r'@"blas\.(\w+)"', r'@"\1_"', text))


def optimized(text: str, names: Sequence[str] = PASSES) -> Any:
    """The module that this IR says, after some of LLVM's passes."""
    # A context of its own: the shared one would keep every constant and type for ever.
    module = llvm.parse_assembly(text, llvm.create_context())
    module.verify()
    options = llvm.create_pipeline_tuning_options(speed_level=3 if names is USUAL else LEVEL)
    options.loop_vectorization, options.loop_unrolling = True, False
    options.slp_vectorization = True  # two roots side by side take as long as one
    builder = llvm.create_pass_builder(_shared_target_machine(), options)
    if names is USUAL:
        passes = builder.getModulePassManager()
    else:
        passes = llvm.create_new_module_pass_manager()
        for name in names:
            getattr(passes, f"add_{name}_pass")()
    passes.run(module, builder)
    # A pass manager does not free itself: its class inherits the method that does nothing first.
    llvm.NewPassManager._dispose(passes)
    passes.detach()
    return module


def assembly(module: ir.Module) -> str:
    """The machine instructions of a module, to read."""
    module.triple = host().triple
    with _lock:
        return str(_shared_target_machine().emit_assembly(optimized(str(module))))


class _Engine:
    """LLVM's linker, loader and owner of code, and the number of modules it took."""

    def __init__(self) -> None:
        self.jit = llvm.create_lljit_compiler(_target_machine(), use_jit_link=_JIT_LINK)
        self.numbers = itertools.count()


_engine: _Engine | None = None


def _link(data: bytes, names: tuple[list[str], list[str]], name: str) -> Code:
    """Load an object file into the process."""
    global _engine
    number = _LIBRARIES if _engine is None else next(_engine.numbers)
    if number == _LIBRARIES:
        # An engine keeps some kilobytes of each module for ever: now and then begin a new one. The
        # old one goes when all its code has gone.
        _engine = _Engine()
        number = next(_engine.numbers)
    assert _engine is not None
    builder = llvm.JITLibraryBuilder().add_object_img(data).add_current_process()
    defined, external = names
    for symbol in external:
        address = _address(symbol)
        if address is not None:
            builder.import_symbol(symbol, address)
    for symbol in defined:
        builder.export_symbol(symbol)
    return Code(_engine, builder.link(_engine.jit, f"{name} {number}"), name)
