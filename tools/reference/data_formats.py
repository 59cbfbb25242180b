"""Small files of formats that other programs write, in tests/formats: HDF5, Parquet, tar archives, zstd.

Needs h5py, numpy, pillow, pyarrow and zstandard."""

import datetime
import decimal
import gzip
import io
import pathlib
import tarfile

import h5py
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import zstandard
from PIL import Image

tests = pathlib.Path(__file__).parents[2] / "tests"
folder = tests / "formats"
folder.mkdir(exist_ok=True)

x = np.arange(50, dtype=np.float32).reshape(10, 5) / 4
with h5py.File(folder / "arrays.h5", "w") as file:
    file["x"] = x
    file["group/y"] = np.arange(10, dtype=">i2") % 3
    file["half"] = x.astype(np.float16)
    file["yes"] = np.arange(10) % 2 == 0
    file["cubes"] = np.arange(10 * 2 * 3 * 2, dtype=np.uint8).reshape(10, 2, 3, 2)
    file.create_dataset("deflated", data=x, chunks=(4, 3), compression="gzip", shuffle=True, fletcher32=True)
    file.create_dataset("in_chunks", data=x, chunks=(3, 5))
    file.create_dataset("deflated_cubes", data=file["cubes"][:], chunks=(4, 2, 2, 1), compression="gzip")
    file.create_dataset("lzf", data=x, compression="lzf")
    file.create_dataset("unwritten", shape=(10, 5), chunks=(4, 3), dtype=np.float32)
    file["texts"] = np.array([b"a"] * 10)
    file["number"] = 7

with h5py.File(folder / "newer.h5", "w", libver="latest") as file:  # of HDF5 2, which earlier ones cannot read
    file.create_dataset("x", data=x, chunks=(4, 5), compression="gzip")
    file["y"] = np.arange(10, dtype=np.int32) % 3

with h5py.File(folder / "linked.h5", "w") as file:
    file["y"] = np.arange(10, dtype=np.int32) % 3
    file["same_y"] = h5py.SoftLink("/y")
    file["external"] = h5py.ExternalLink("arrays.h5", "/x")
    file["root"] = h5py.ExternalLink("arrays.h5", "/")
    file["soft"] = h5py.SoftLink("/external")
    file["in_group"] = h5py.SoftLink("/root/x")
    layout = h5py.VirtualLayout(shape=(10, 5), dtype=np.float32, maxshape=(None, 5))
    layout[:h5py.h5s.UNLIMITED, :] = h5py.VirtualSource("arrays.h5", "x", (10, 5), np.float32, (None, 5))[:h5py.h5s.UNLIMITED, :]
    file.create_virtual_dataset("virtual", layout)

words = ["red", "green", 'dark "blue"', "a,b", None, "two\nlines", "", "red", "red", "green"]
table = pa.table({
    "f": pa.array(x[:, 1]),
    "d": pa.array([0.1, 1e30, None, float("nan"), -0.0, 3, 4, 5, 6, 7]),
    "i": pa.array([-5, 2**62, None, 3, 4, 5, 6, 7, 8, 9], pa.int64()),
    "u": pa.array(range(10), pa.uint8()),
    "yes": pa.array([True, False, None] + [True] * 7),
    "word": pa.array(words),
    "color": pa.array(words).dictionary_encode(),
    "list": pa.array([[1, 2]] * 10),
    "struct": pa.array([{"a": 1, "b": "c"}] * 10),
    "day": pa.array([datetime.date(2024, 2, 29)] * 10),
    "price": pa.array([decimal.Decimal("12.50")] * 10, pa.decimal128(8, 2)),
    "bytes": pa.array([b"\x00\xff"] * 10),
    "label": pa.array(["a", "b"] * 5),
})
pq.write_table(table, folder / "table.parquet", row_group_size=4, compression="snappy")
pq.write_table(table.select(["f", "label"]), folder / "small.parquet", row_group_size=3, compression="zstd")
lines = "f,label\n" + "".join(f"{float(v)!r},{'ab'[i % 2]}\n" for i, v in enumerate(x[:, 1]))
(folder / "small.csv.zst").write_bytes(zstandard.ZstdCompressor().compress(lines.encode()))
half = len(lines) // 2
(folder / "frames.csv.zst").write_bytes(b"".join(
    zstandard.ZstdCompressor().compress(part.encode()) for part in (lines[:half], lines[half:])))

rgb = (tests / "pictures" / "rgb.png").read_bytes()
photo = (tests / "pictures" / "photo.jpg").read_bytes()


def archive(name, form, prefix, samples):
    with tarfile.open(folder / name, "w:gz" if name.endswith("gz") else "w", format=form) as tar:
        folder_entry = tarfile.TarInfo("a folder")
        folder_entry.type = tarfile.DIRTYPE
        tar.addfile(folder_entry)
        for number in samples:
            for ending, content in (("cls", f"{number % 3}\n".encode()), ("PNG", rgb), ("json", b"{}")):
                entry = tarfile.TarInfo(f"{prefix}{number:04}.{ending}")
                entry.size = len(content)
                tar.addfile(entry, io.BytesIO(content))


archive("ustar.tar", tarfile.USTAR_FORMAT, "train/", range(3))
archive("gnu.tar", tarfile.GNU_FORMAT, "long/" * 30, range(3, 5))
archive("pax.tar.gz", tarfile.PAX_FORMAT, "länger/" * 20, range(5, 8))
with tarfile.open(folder / "several.tar", "w", format=tarfile.USTAR_FORMAT) as tar:
    for ending, content in (("left.png", rgb), ("right.jpg", photo), ("kind", b"2"), ("value", b"0.25")):
        entry = tarfile.TarInfo(f"one.{ending}")
        entry.size = len(content)
        tar.addfile(entry, io.BytesIO(content))

# The same examples in several formats, for whole trainings.
random = np.random.default_rng(5)
rows = 120
kinds = random.integers(0, 3, rows)
numbers = (random.normal(size=(rows, 6)) + kinds[:, None]).astype(np.float32)
np.savez_compressed(folder / "same.npz", train_images=numbers, train_labels=kinds.astype(np.uint8)[:, None])
with h5py.File(folder / "same.h5", "w") as file:
    file["x"] = numbers
    file["y"] = kinds.astype(np.uint8)
    file.create_dataset("x_deflated", data=numbers, chunks=(16, 4), compression="gzip", shuffle=True)
colors = np.array(["red", "green", "blue"])[random.integers(0, 3, rows)]
columns = {f"n{i}": numbers[:, i] for i in range(6)}
columns["color"] = pa.array(colors).dictionary_encode()
columns["size"] = pa.array([None if random.random() < 0.1 else float(v) for v in random.normal(size=rows)])
columns["kind"] = pa.array(np.array(["a", "b", "c"])[kinds])
same = pa.table(columns)
pq.write_table(same, folder / "same.parquet", row_group_size=50)


def cell(value):
    return "" if value is None else repr(value) if isinstance(value, float) else value


lists = [same[name].to_pylist() for name in same.column_names]
text = ",".join(same.column_names) + "\n" + "".join(
    ",".join(cell(column[row]) for column in lists) + "\n" for row in range(rows))
(folder / "same.csv.zst").write_bytes(zstandard.ZstdCompressor(level=19).compress(text.encode()))
buffer = io.BytesIO()
with tarfile.open(fileobj=buffer, mode="w", format=tarfile.USTAR_FORMAT) as tar:
    for row in range(40):
        picture = io.BytesIO()
        pixels = np.clip(random.normal(80 * kinds[row] + 40, 30, (4, 4, 3)), 0, 255).astype(np.uint8)
        Image.fromarray(pixels).save(picture, "PNG")
        for ending, content in (("png", picture.getvalue()), ("cls", str(kinds[row]).encode())):
            entry = tarfile.TarInfo(f"{row:04}.{ending}")
            entry.size = len(content)
            tar.addfile(entry, io.BytesIO(content))
(folder / "same.tar.gz").write_bytes(gzip.compress(buffer.getvalue(), mtime=0))
