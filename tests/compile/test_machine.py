"""The target machine: compiling, linking, and machine code kept on disk."""

import ctypes
import errno
import gc
import os
import subprocess
import sys
import time
import weakref
from pathlib import Path

import numpy as np
import pytest

import wengert as wg

llvm = pytest.importorskip("llvmlite.ir")

from wengert.compile.llvm.machine import functions  # noqa: E402
from wengert.compile.llvm.machine import host as machine  # noqa: E402
from wengert.history import cache  # noqa: E402

INT = llvm.IntType(64)
POINTER = llvm.IntType(8).as_pointer()


def adder(constant):
    """A module with f(x) = x + constant."""
    module = llvm.Module("adder")
    function = llvm.Function(module, llvm.FunctionType(INT, [INT]), "f")
    build = llvm.IRBuilder(function.append_basic_block())
    build.ret(build.add(function.args[0], llvm.Constant(INT, constant)))
    return module


def call(code, value):
    return ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)(code.address("f"))(value)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("WENGERT_CACHE", str(tmp_path / "deep" / "cache"))
    return tmp_path / "deep" / "cache"


def compiled(module):
    """Compile as a new process would: with nothing in memory."""
    machine._live.clear()
    return machine.compile_module(module, "test")


def test_vectors_have_a_width_of_the_host():
    assert machine.vector_bytes() in (16, 32, 64)


def test_the_text_of_a_module_is_what_llvmlite_writes(monkeypatch):
    written, modules = machine._written, []

    def words(text):
        lines = (" ".join(line.split()) for line in text.splitlines())
        return [line.replace('"', "") if line.endswith(":") else line for line in lines]

    def compared(module):
        ours = written(module)
        with monkeypatch.context() as patch:
            patch.setattr(functions.Function, "descr_body", llvm.Function.descr_body)
            assert words(ours[0]) == words(str(module))
        modules.append(module)
        return ours

    monkeypatch.setattr(machine, "_written", compared)
    monkeypatch.setenv("WENGERT_CACHE", "")
    x, y = wg.randn(40, 24), wg.randn(24, 50)

    @wg.compile
    def step(x, y):
        z = (x @ y).softmax(1).log() + wg.where(x[:, :1] > 0, 0.25, x[:, 1:2].tanh())
        return z.sort(1).values, z.cumsum(0), z.int() % 3, z.argmax(1), z.exp().sum(), x.pow(1.5)

    for _ in range(3):
        step(x, y)
    assert modules


def test_threads_that_write_their_first_texts_find_the_whole_table_of_characters():
    # llvmlite fills it when it is first asked; another thread then found half: KeyError: 98.
    lines = [
        "import wengert.compile.llvm.machine.host",
        "from llvmlite.ir import values",
        "print(len(values._escape_string.__defaults__[0]))",
    ]
    command = [sys.executable, "-c", "\n".join(lines)]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == "256\n"


def test_a_module_becomes_code_and_is_compiled_once(folder):
    code = machine.compile_module(adder(5), "five")
    assert call(code, 3) == 8
    assert machine.compile_module(adder(5), "again") is code
    assert machine.compile_module(adder(6), "six") is not code
    with pytest.raises(KeyError, match=r"'five' defines no 'g'"):
        code.address("g")


def test_assembly_can_be_read(folder):
    assert "f:" in machine.assembly(adder(5))


def test_what_goes_round_in_a_loop_and_is_read_by_nobody_is_left_out():
    # Working memory that the body of a loop writes, and another step reads as a vector after it was
    # written anew, stayed a register that each iteration wrote.
    text = f"""
    target triple = "{machine.host().triple}"
    define void @f(ptr %to, double %x, i64 %n) {{
    entry:
      %room = alloca <2 x double>
      br label %loop
    loop:
      %i = phi i64 [ 0, %entry ], [ %next, %loop ]
      store double %x, ptr %room
      %next = add i64 %i, 1
      %more = icmp ult i64 %next, %n
      br i1 %more, label %loop, label %done
    done:
      store <2 x double> <double 1.0, double 2.0>, ptr %room
      %read = load <2 x double>, ptr %room
      store <2 x double> %read, ptr %to
      ret void
    }}
    """
    (function,) = machine.optimized(text).functions
    written = [i.opcode for block in function.blocks for i in block.instructions]
    assert "insertelement" not in written
    before = [name for name in machine.PASSES if name != "aggressive_dce"]
    (function,) = machine.optimized(text, before).functions
    assert any(i.opcode == "insertelement" for b in function.blocks for i in b.instructions)


def test_what_a_loop_seldom_does_is_told_to_be_seldom():
    # A loop that now and then looks at the clock kept its state in memory for all rounds: calls
    # spoil registers, and LLVM took them to be as likely as the next round.
    from llvmlite import ir

    from wengert.compile.llvm.machine.control import Merge
    from wengert.compile.llvm.machine.values import BIT, I64

    module = ir.Module("seldom")
    function, b = functions.internal(module, "f", I64, [BIT, I64])
    due, x = function.args
    goes = Merge(b, "on")
    goes.come([x], unless=due, mostly=True)
    goes.come([b.add(x, I64(1))])
    (result,) = goes.begin()
    goes.close()
    b.ret(result)
    assert '!"branch_weights", i32 1, i32 1024' in str(module)


def test_code_from_disk_is_not_compiled_again(folder, monkeypatch):
    compiled(adder(7))
    monkeypatch.setattr(machine, "_object_of", None)
    assert call(compiled(adder(7)), 1) == 8


def test_a_module_on_disk_is_not_written_again(folder):
    # The entry's module was built and printed in each process: a tenth of a second.
    kept = machine.compile_text("the adder of 70", lambda: adder(70), "test")
    assert call(kept, 1) == 71
    del kept
    gc.collect()

    def never():
        raise AssertionError

    assert call(machine.compile_text("the adder of 70", never, "test"), 1) == 71


def test_a_module_is_written_again_when_the_text_of_what_writes_it_has_changed(folder, monkeypatch):
    # A number in the source said which version of the writer it was: forgotten, old code ran.
    kept = machine.compile_text("an adder", lambda: adder(70), "test")
    monkeypatch.setattr(machine, "_text", lambda folder: f"{folder.name}, changed")
    assert call(machine.compile_text("an adder", lambda: adder(80), "test"), 1) == 81
    monkeypatch.setattr(machine, "_text", lambda folder: "")
    assert call(machine.compile_text("an adder", lambda: adder(90), "test"), 1) == 91
    assert call(kept, 1) == 71


def test_what_writes_modules_is_read_when_it_was_written_again(folder, tmp_path, monkeypatch):
    # In each process all of it was read: 10 ms of a warm start.
    text, program = machine._text.__wrapped__, tmp_path / "program"
    (program / "inside").mkdir(parents=True)
    file = program / "inside" / "module.py"
    file.write_text("a = 1")
    first = text(program)
    assert not folder.exists()  # within the clock's tick it may be written again
    monkeypatch.setattr(machine, "_CLOCK", -60.0)
    assert text(program) == first
    (kept,) = folder.rglob("*.code")
    cache.write(kept.stem, b"kept")
    assert text(program) == "kept"
    file.write_text("a = 2")
    os.utime(file, ns=(0, 0))
    assert text(program) not in (first, "kept")
    assert text(tmp_path / "nowhere") == ""


COMPILING = """
import sys
from wengert.history import cache
with cache.turn(sys.argv[1]):
    print("compiling", flush=True)
    sys.stdin.read()
    cache.write(sys.argv[1], sys.argv[2].encode())
"""


@pytest.mark.skipif(os.name == "nt", reason="there are no locks of POSIX")
@pytest.mark.parametrize("dies", [False, True])
def test_of_processes_that_start_together_one_compiles(folder, monkeypatch, dies):
    # Each compiled the same: workers of a study waited for the first batch, for that reason.
    key = cache.digest(b"a module", 20).hex()
    command = [sys.executable, "-c", COMPILING, key, "machine code"]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, **pipes) as other:
        assert other.stdout.readline() == "compiling\n"

        def waited(seconds):
            other.kill() if dies else other.communicate("")

        monkeypatch.setattr(cache.time, "sleep", waited)
        with cache.turn(cache.digest(b"another module", 20).hex()):
            assert other.poll() is None
        with cache.turn(key):
            assert cache.read(key) == (None if dies else b"machine code")
        other.wait(10)  # or this process would not have had its turn


def test_a_process_that_is_stopped_while_it_compiles_is_not_waited_for_long(folder, monkeypatch):
    monkeypatch.setattr(cache, "_locked", lambda *asked: False)
    monkeypatch.setattr(cache, "_PATIENCE", 0.0)
    assert call(compiled(adder(11)), 1) == 12


@pytest.mark.parametrize("content", [b"", b"rubbish", "cut", "changed", "no code"])
def test_a_spoiled_file_is_replaced(folder, content):
    compiled(adder(8))
    (path,) = folder.rglob("*.code")
    whole = path.read_bytes()
    if content == "cut":
        path.write_bytes(whole[:-1])
    elif content == "changed":
        path.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
    elif content == "no code":
        cache.write(path.stem, b"a whole file, but no object code")
    else:
        path.write_bytes(content)
    assert call(compiled(adder(8)), 1) == 9
    assert path.read_bytes() == whole
    assert {file for file in folder.rglob("*") if file.is_file()} == {path, folder / "turns"}


def test_an_empty_name_of_the_folder_keeps_nothing(monkeypatch):
    monkeypatch.setenv("WENGERT_CACHE", "")
    assert cache.folder() is None
    assert call(compiled(adder(9)), 1) == 10


def test_a_folder_that_cannot_be_written_is_no_obstacle(tmp_path, monkeypatch):
    file = tmp_path / "file"
    file.write_text("in the way")
    monkeypatch.setenv("WENGERT_CACHE", str(file / "cache"))
    assert call(compiled(adder(10)), 1) == 11
    assert cache.read("anything") is None


def test_of_a_disk_that_is_read_only_what_is_kept_is_used(folder, monkeypatch):
    # That a file of another day was used could not be noted, so it counted as missing: each process
    # compiled it again.
    cache.write("kept", b"code")
    other_day = time.time() - 3 * 24 * 3600
    os.utime(folder / "k" / "kept.code", (other_day, other_day))

    def refuse(*args, **kwargs):
        raise OSError(errno.EROFS, "Read-only file system")

    for name in ("utime", "open", "makedirs", "replace", "unlink"):
        monkeypatch.setattr(os, name, refuse)
    assert cache.read("kept") == b"code"
    cache.write("other", b"code")
    assert cache.read("other") is None
    assert call(compiled(adder(11)), 1) == 12


def test_a_full_disk_is_no_obstacle(tmp_path):
    resource = pytest.importorskip("resource")  # no file may become longer than a few bytes
    script = (
        "import numpy as np, wengert as wg\n"
        "f = wg.compile(wg.grad(lambda x: np.tanh(x * np.sin(x)).sum()))\n"
        "print(f(np.zeros(2)), f(np.zeros(2)))"
    )
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", script],
        capture_output=True,
        text=True,
        env={**os.environ, "WENGERT_CACHE": str(tmp_path), "PYTHONDONTWRITEBYTECODE": "1"},
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (16, 16)),
    )
    assert done.stdout == "[0. 0.] [0. 0.]\n", done.stderr
    assert not [path for path in tmp_path.rglob("*.code") if path.stat().st_size <= 16]


@pytest.mark.skipif(os.name == "nt", reason="other folders there")
def test_the_folder_follows_the_platform(tmp_path, monkeypatch):
    monkeypatch.delenv("WENGERT_CACHE")
    monkeypatch.setattr("sys.platform", "linux")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    assert cache.folder() == tmp_path / ".cache" / "wengert"
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert cache.folder() == tmp_path / "xdg" / "wengert"
    monkeypatch.setattr("sys.platform", "darwin")
    assert cache.folder() == tmp_path / "Library" / "Caches" / "wengert"


def test_what_was_used_longest_ago_is_removed(folder):
    now = time.time()
    drawer = folder / "0"
    for age, key in enumerate(["0a", "0b", "0c", "0d"]):
        cache.write(key, b"x" * 1000)
        os.utime(drawer / f"{key}.code", (now - age, now - age))
    left_behind = drawer / "crashed.part"
    left_behind.write_bytes(b"x")
    os.utime(left_behind, (0, 0))
    (drawer / "not ours.txt").write_text("stays")
    cache.prune(drawer, 2500)
    assert sorted(path.name for path in drawer.iterdir()) == ["0a.code", "0b.code", "not ours.txt"]
    cache.read("0b")  # was used just now: its time stays
    os.utime(drawer / "0b.code", (0, 0))
    cache.read("0b")
    assert (drawer / "0b.code").stat().st_mtime >= now - 1


def test_what_is_written_into_a_full_folder_asks_seldom_how_large_it_is(folder, monkeypatch):
    """The first code of each process asked for the size of every file: seconds where many are."""
    counted = []
    monkeypatch.setattr(cache, "prune", lambda drawer, limit: counted.append((drawer, limit)))
    for n in range(20 * cache._SELDOM):
        cache.write(f"{n % 16:x}{n}", b"x")
    assert 0 < len(counted) < 60
    assert {limit for _, limit in counted} == {cache.LIMIT // 16}
    assert {Path(drawer).parent for drawer, _ in counted} == {folder}


def test_code_is_freed_with_its_object(folder):
    code = compiled(adder(11))
    gone = weakref.ref(code)
    del code
    gc.collect()
    assert gone() is None


def test_engines_are_left_behind_and_freed(folder, monkeypatch):
    monkeypatch.setattr(machine, "_LIBRARIES", 3)
    monkeypatch.setattr(machine, "_engine", None)
    codes = [machine.compile_module(adder(100 + i), "many") for i in range(8)]
    assert [call(code, 0) for code in codes] == list(range(100, 108))
    assert len({id(code._engine) for code in codes}) == 3
    first = weakref.ref(codes[0]._engine)
    del codes
    gc.collect()
    assert first() is None


def test_modules_call_python_and_blas_by_name(folder):
    module = llvm.Module("names")
    make = llvm.Function(module, llvm.FunctionType(POINTER, [INT]), "python.PyLong_FromLongLong")
    dot = llvm.Function(module, llvm.FunctionType(llvm.DoubleType(), [POINTER] * 5), "blas.ddot")
    other = llvm.Function(module, llvm.FunctionType(INT, [INT]), "test.other")
    f = llvm.Function(module, llvm.FunctionType(POINTER, [INT]), "f")
    build = llvm.IRBuilder(f.append_basic_block())
    build.ret(build.call(make, [build.call(other, f.args)]))
    g = llvm.Function(module, dot.function_type, "g")
    build = llvm.IRBuilder(g.append_basic_block())
    build.ret(build.call(dot, g.args))
    callee = machine.compile_module(adder(1), "callee")  # is to live as long as its callers
    machine.register("test.other", callee.address("f"))
    for _ in range(2):  # compiled, then from disk
        code = compiled(module)
        assert ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_int64)(code.address("f"))(6) == 7
        x, y, n, one = np.arange(4.0), np.ones(4), np.int32([4]), np.int32([1])
        arguments = [a.ctypes.data for a in (n, x, one, y, one)]
        run = ctypes.CFUNCTYPE(ctypes.c_double, *[ctypes.c_void_p] * 5)(code.address("g"))
        assert run(*arguments) == 6


def test_an_unknown_routine_is_refused_by_name():
    with pytest.raises(ValueError, match=r"no routine 'SGEMM'.*sgemm"):
        machine.blas("SGEMM")
