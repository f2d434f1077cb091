"""`utils.tensorboard`: event files that TensorBoard shows, written without TensorFlow.

A file is a sequence of records: the length of the data, the data, each followed by its checksum
(CRC-32C, masked as TFRecord files have it). The data are protocol buffers, of which the few kinds
needed are put together here field by field.
"""

from __future__ import annotations

import itertools
import os
import socket
import struct
import time
import zlib
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np

from wengert.tensor import Tensor
from wengert.utils.protobuf import bytes_field as _bytes
from wengert.utils.protobuf import double as _double
from wengert.utils.protobuf import integer as _integer
from wengert.utils.protobuf import single as _float

# ---- records -------------------------------------------------------------------------------

CASTAGNOLI = 0x82F63B78


def _checksums() -> list[int]:
    table = list(range(256))
    for _ in range(8):
        table = [(c >> 1) ^ (CASTAGNOLI if c & 1 else 0) for c in table]
    return table


_TABLE = _checksums()


def crc32c(data: bytes) -> int:
    """The CRC-32C checksum.

    >>> hex(crc32c(b"123456789"))
    '0xe3069283'
    """
    crc, table = 0xFFFFFFFF, _TABLE
    for byte in data:
        crc = table[(crc ^ byte) & 0xFF] ^ (crc >> 8)
    return crc ^ 0xFFFFFFFF


def _masked(data: bytes) -> bytes:
    # A checksum of data that hold checksums would be weak: so it is turned and shifted.
    crc = crc32c(data)
    return struct.pack("<I", (((crc >> 15) | (crc << 17)) + 0xA282EAD8) & 0xFFFFFFFF)


def record(data: bytes) -> bytes:
    """One record of a file."""
    length = struct.pack("<Q", len(data))
    return length + _masked(length) + data + _masked(data)


# ---- what is in them -----------------------------------------------------------------------


def _doubles(number: int, values: Any) -> bytes:
    return _bytes(number, np.asarray(values, "<f8").tobytes())


def _histogram(values: np.ndarray[Any, Any], bins: Any) -> bytes:
    values = values.reshape(-1).astype(np.float64)
    if not values.size or not np.isfinite(values).all():
        raise ValueError("The input has no element, or elements that are not finite.")
    counts, edges = np.histogram(values, bins)
    filled = np.nonzero(counts)[0]
    first, last = (filled[0], filled[-1] + 1) if filled.size else (0, len(counts))
    limits = edges[first : last + 1]
    return (
        _double(1, values.min())
        + _double(2, values.max())
        + _double(3, values.size)
        + _double(4, values.sum())
        + _double(5, values @ values)
        + _doubles(6, limits)
        + _doubles(7, [0, *counts[first:last]])
    )


_VALUES: dict[type, tuple[int, Any]] = {
    str: (1, lambda value: _bytes(3, value)),
    bool: (2, lambda value: _integer(4, int(value))),
    float: (3, lambda value: _double(2, value)),
}
"""For each type of a setting its number in TensorBoard, and how a value is written."""


def _setting(name: str, values: list[Any]) -> tuple[int, list[bytes]]:
    """The number of a setting's type, and its values: the first is what it is."""
    items = [v if isinstance(v, (str, bool)) else _number(name, v) for v in values]
    kinds = {type(value) for value in items}
    if len(kinds) > 1:
        raise TypeError(f"add_hparams: the values of {name!r} are of several types: {values}")
    kind, written = _VALUES[kinds.pop()]
    return kind, [written(value) for value in items]


def _number(name: str, value: Any) -> float:
    try:
        return float(_array(value).reshape(()))
    except (TypeError, ValueError):
        raise TypeError(
            f"add_hparams: {name!r} is a {type(value).__name__}; settings are numbers, strings and "
            "bools: write str(...)"
        ) from None


def _domain(values: list[bytes]) -> bytes:
    return _bytes(5, b"".join(_bytes(1, value) for value in values)) if values else b""


def _growing_bins() -> np.ndarray[Any, Any]:
    """Limits that grow by a tenth, from 1e-12 to 1e20, on both sides of 0."""
    positive = 1e-12 * 1.1 ** np.arange(774)
    return np.concatenate([-positive[::-1], [0.0], positive])


def png(pixels: np.ndarray[Any, Any]) -> bytes:
    """A picture of shape (height, width, 1, 3 or 4) of bytes as a PNG file."""
    height, width, channels = pixels.shape
    kind = {1: 0, 3: 2, 4: 6}[channels]

    def chunk(name: bytes, data: bytes) -> bytes:
        checksum = struct.pack(">I", zlib.crc32(name + data))
        return struct.pack(">I", len(data)) + name + data + checksum

    rows = np.zeros((height, 1 + width * channels), np.uint8)  # each row begins with its filter: 0
    rows[:, 1:] = pixels.reshape(height, -1)
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, kind, 0, 0, 0))
        + chunk(b"IDAT", zlib.compress(rows.tobytes()))
        + chunk(b"IEND", b"")
    )


# ---- the writer ----------------------------------------------------------------------------

_numbers = itertools.count()


class SummaryWriter:
    """Writes what TensorBoard shows to a file in `log_dir` (`runs/` and the date by default).

    The file is flushed every `flush_secs` seconds or `max_queue` entries, and by `flush()` and
    `close()`. `purge_step` tells TensorBoard to forget what earlier files say from that step on.

    >>> import tempfile
    >>> with SummaryWriter(tempfile.mkdtemp()) as writer:
    ...     for step, loss in enumerate([0.9, 0.5, 0.3]):
    ...         writer.add_scalar("loss", loss, step)
    """

    def __init__(
        self,
        log_dir: Any = None,
        comment: str = "",
        purge_step: int | None = None,
        max_queue: int = 10,
        flush_secs: float = 120,
        filename_suffix: str = "",
    ) -> None:
        if not log_dir:
            now = datetime.now().strftime("%b%d_%H-%M-%S")
            log_dir = Path("runs") / f"{now}_{socket.gethostname()}{comment}"
        self.log_dir = str(log_dir)
        self.max_queue = max_queue
        self.flush_secs = flush_secs
        self.filename_suffix = filename_suffix
        self._parts: dict[str, SummaryWriter] = {}
        self._waiting, self._flushed = 0, time.monotonic()
        folder = Path(log_dir)
        folder.mkdir(parents=True, exist_ok=True)
        name = f"events.out.tfevents.{int(time.time())}.{socket.gethostname()}.{os.getpid()}"
        self._file: Any = (folder / f"{name}.{next(_numbers)}{filename_suffix}").open("wb")
        self._event(_bytes(3, "brain.Event:2"), 0, None)
        if purge_step is not None:
            self._event(_bytes(7, _integer(1, 1)), purge_step, None)
        self.flush()

    def get_logdir(self) -> str:
        """The folder of the file."""
        return self.log_dir

    # ---- what can be added ----------------------------------------------------------------

    def add_scalar(
        self,
        tag: str,
        scalar_value: Any,
        global_step: Any = None,
        walltime: float | None = None,
        new_style: bool = False,
        double_precision: bool = False,
    ) -> None:
        """A number. With `new_style` or `double_precision` it is stored as a tensor."""
        value = float(_array(scalar_value).reshape(()))
        if new_style or double_precision:
            kind, data = (2, _doubles(6, [value])) if double_precision else (
                1, _bytes(5, struct.pack("<f", value))
            )  # fmt: skip
            metadata = _bytes(1, _bytes(1, "scalars")) + _integer(4, 1)
            self._add(tag, _bytes(8, _integer(1, kind) + _bytes(2, b"") + data)
                      + _bytes(9, metadata), global_step, walltime)  # fmt: skip
        else:
            self._add(tag, _float(2, value), global_step, walltime)

    def add_scalars(
        self,
        main_tag: str,
        tag_scalar_dict: Mapping[str, Any],
        global_step: Any = None,
        walltime: float | None = None,
    ) -> None:
        """Several numbers for one chart, each in a folder of its own beside this file."""
        for tag, value in tag_scalar_dict.items():
            folder = f"{self.log_dir}/{main_tag.replace('/', '_')}_{tag}"
            if folder not in self._parts:
                options = (self.max_queue, self.flush_secs, self.filename_suffix)
                self._parts[folder] = SummaryWriter(folder, "", None, *options)
            self._parts[folder].add_scalar(main_tag, value, global_step, walltime)

    def add_histogram(
        self,
        tag: str,
        values: Any,
        global_step: Any = None,
        bins: Any = "tensorflow",
        walltime: float | None = None,
        max_bins: int | None = None,
    ) -> None:
        """How numbers are distributed; `bins` are as for np.histogram, or TensorFlow's."""
        array = _array(values)
        limits = _growing_bins() if isinstance(bins, str) and bins == "tensorflow" else bins
        if max_bins is not None:
            limits = np.histogram_bin_edges(array, limits)
            limits = limits[:: -(-(len(limits) - 1) // max_bins) or 1]
        self._add(tag, _bytes(5, _histogram(array, limits)), global_step, walltime)

    def add_image(
        self,
        tag: str,
        img_tensor: Any,
        global_step: Any = None,
        walltime: float | None = None,
        dataformats: str = "CHW",
    ) -> None:
        """A picture: bytes, or numbers from 0 to 1, whose dimensions `dataformats` names."""
        array = _array(img_tensor)
        if array.ndim != len(dataformats) or set(dataformats) - set("NCHW"):
            raise ValueError(
                f"add_image: a picture of shape {array.shape} does not fit dataformats="
                f"{dataformats!r}, which names each dimension: 'CHW', 'HWC', 'HW' or 'NCHW'"
            )
        if "N" in dataformats:
            array = _grid(_ordered(array, dataformats, "NHWC"))
        else:
            array = _ordered(array, dataformats, "HWC")
        if array.shape[2] not in (1, 3, 4):
            raise ValueError(
                f"add_image: expected 1, 3 or 4 channels, got {array.shape[2]} (shape "
                f"{_array(img_tensor).shape}, dataformats={dataformats!r})"
            )
        if array.dtype.kind == "f":
            array = (array * 255).clip(0, 255)
        pixels = array.astype(np.uint8)
        height, width, channels = pixels.shape
        image = _integer(1, height) + _integer(2, width) + _integer(3, channels)
        self._add(tag, _bytes(4, image + _bytes(4, png(pixels))), global_step, walltime)

    def add_images(
        self,
        tag: str,
        img_tensor: Any,
        global_step: Any = None,
        walltime: float | None = None,
        dataformats: str = "NCHW",
    ) -> None:
        """Several pictures in a row of one."""
        self.add_image(tag, img_tensor, global_step, walltime, dataformats)

    def add_figure(
        self,
        tag: str,
        figure: Any,
        global_step: Any = None,
        close: bool = True,
        walltime: float | None = None,
    ) -> None:
        """A figure of matplotlib."""
        from matplotlib import pyplot
        from matplotlib.backends.backend_agg import FigureCanvasAgg

        canvas = FigureCanvasAgg(figure)
        canvas.draw()
        pixels = np.asarray(canvas.buffer_rgba())[..., :3]
        if close:
            pyplot.close(figure)
        self.add_image(tag, pixels, global_step, walltime, "HWC")

    def add_text(
        self, tag: str, text_string: str, global_step: Any = None, walltime: float | None = None
    ) -> None:
        """A text, in which Markdown has its meaning."""
        tensor = _integer(1, 7) + _bytes(2, _bytes(2, _integer(1, 1))) + _bytes(8, text_string)
        metadata = _bytes(1, _bytes(1, "text"))
        content = _bytes(8, tensor) + _bytes(9, metadata)
        self._add(f"{tag}/text_summary", content, global_step, walltime)

    def add_hparams(
        self,
        hparam_dict: dict[str, Any],
        metric_dict: dict[str, Any],
        hparam_domain_discrete: dict[str, list[Any]] | None = None,
        run_name: str | None = None,
        global_step: Any = None,
    ) -> None:
        """The settings of a run and what came of it, for TensorBoard's table that compares runs.

        Settings are numbers, strings and bools (None is left out), metrics numbers. They are
        written to a folder of their own in this one: `run_name`, or the time.
        `hparam_domain_discrete` says which values a setting may have. TypeError for what is none.
        """
        domains = hparam_domain_discrete or {}
        for given in (hparam_dict, metric_dict, domains):
            if not isinstance(given, dict):
                raise TypeError(f"add_hparams takes dictionaries, not a {type(given).__name__}")
        if unknown := domains.keys() - hparam_dict.keys():
            raise TypeError(f"add_hparams: hparam_domain_discrete names {sorted(unknown)}, which "
                            "are not in hparam_dict")  # fmt: skip
        known = {name: value for name, value in hparam_dict.items() if value is not None}
        settings = {name: _setting(name, [v, *domains.get(name, [])]) for name, v in known.items()}
        metrics = [_bytes(5, _bytes(1, _bytes(2, tag))) for tag in metric_dict]
        infos = [
            _bytes(4, _bytes(1, name) + _integer(4, kind) + _domain(values[1:]))
            for name, (kind, values) in settings.items()
        ]
        start = [
            _bytes(1, _bytes(1, name) + _bytes(2, values[0]))
            for name, (_, values) in settings.items()
        ]
        parts = {
            "experiment": _bytes(2, b"".join([*infos, *metrics])),
            "session_start_info": _bytes(3, b"".join(start)),
            "session_end_info": _bytes(4, _integer(1, 1)),  # a success
        }
        with SummaryWriter(Path(self.log_dir) / (run_name or str(time.time()))) as writer:
            for name, content in parts.items():
                plugin = _bytes(1, "hparams") + _bytes(2, content)
                writer._add(f"_hparams_/{name}", _bytes(9, _bytes(1, plugin)), global_step, None)
            for tag, value in metric_dict.items():
                writer.add_scalar(tag, value, global_step)

    def add_graph(self, model: Any, input_to_model: Any = None, *args: Any, **kwargs: Any) -> None:
        """NotImplementedError: `wengert.visual` draws graphs."""
        raise NotImplementedError(
            "SummaryWriter.add_graph: draw the graph with wengert.visual.draw(model, x), and add "
            "the picture with add_image."
        )

    # ---- the file -------------------------------------------------------------------------

    def _add(self, tag: str, content: bytes, step: Any, walltime: float | None) -> None:
        summary = _bytes(1, _bytes(1, tag) + content)
        self._event(_bytes(5, summary), 0 if step is None else int(step), walltime)

    def _event(self, content: bytes, step: int, walltime: float | None) -> None:
        if self._file is None:
            raise ValueError("this SummaryWriter is closed; make another one")
        now = time.time() if walltime is None else walltime
        self._file.write(record(_double(1, now) + _integer(2, step) + content))
        self._waiting += 1
        late = time.monotonic() - self._flushed > self.flush_secs
        if self._waiting >= self.max_queue or late:
            self.flush()

    def flush(self) -> None:
        """Write out all that was added."""
        for writer in (self, *self._parts.values()):
            if writer._file is not None:
                writer._file.flush()
                writer._waiting, writer._flushed = 0, time.monotonic()

    def close(self) -> None:
        """Write out all, and close the file."""
        for writer in (self, *self._parts.values()):
            if writer._file is not None:
                writer._file.close()
                writer._file = None

    def __enter__(self) -> SummaryWriter:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()


def _array(x: Any) -> Any:
    """The numbers of a tensor, an array, or a list."""
    return x._array if isinstance(x, Tensor) else np.asarray(x)


def _ordered(array: Any, names: str, wanted: str) -> Any:
    """An array's dimensions in another order; missing channels are one."""
    if "C" not in names:
        array, names = array[..., None], names + "C"
    return np.transpose(array, [names.index(name) for name in wanted])


def _grid(images: Any) -> Any:
    """Pictures (n, height, width, channels) side by side."""
    return np.concatenate(list(images), axis=1)
