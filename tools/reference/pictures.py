"""Small pictures in tests/pictures and what Pillow and tf.image make of them: tests/pictures/expected.json.

pixels: CRC-32 of the decoded bytes [height, width, channels]. resized: tf.image.resize (bilinear, no antialiasing) to 5 x 7."""

import json
import pathlib
import struct
import zlib

import numpy as np
import tensorflow as tf
from PIL import Image, ImageOps

folder = pathlib.Path(__file__).parents[2] / "tests" / "pictures"
folder.mkdir(exist_ok=True)
random = np.random.default_rng(1)
y, x = np.mgrid[0:13, 0:18]
rgb = np.stack([x * 14, y * 19, (x * y * 3) % 256], axis=-1).astype(np.uint8)

Image.fromarray(rgb).save(folder / "rgb.png")
Image.fromarray(rgb[..., 0]).save(folder / "gray.png")
Image.fromarray(rgb).quantize(16).save(folder / "palette.png")
Image.fromarray(np.dstack([rgb, rgb[..., 1]])).save(folder / "alpha.png")
Image.fromarray(rgb[..., 0] > 100).save(folder / "bits.png")
wide = random.integers(0, 65536, [6, 9], dtype=np.uint16)
Image.fromarray(wide).save(folder / "sixteen.png")
Image.fromarray(rgb).save(folder / "photo.jpg", quality=85)
Image.fromarray(rgb[..., 0]).save(folder / "gray.jpg", quality=85)
Image.fromarray(rgb).save(folder / "progressive.jpeg", quality=70, progressive=True)
Image.fromarray(rgb).convert("CMYK").save(folder / "inks.jpg", quality=85)
for orientation in range(2, 9):
    exif = Image.Exif()
    exif[0x0112] = orientation
    Image.fromarray(rgb).save(folder / f"turned-{orientation}.JPG", quality=95, exif=exif)

# Of other formats.
shapes = Image.fromarray(rgb).quantize(16)
shapes.save(folder / "transparent.png", transparency=3)
Image.fromarray(rgb).save(folder / "lossless.webp", lossless=True)
Image.fromarray(rgb).save(folder / "lossy.webp", quality=80)
Image.fromarray(np.dstack([rgb, rgb[..., 1]])).save(folder / "alpha.webp", lossless=True, exact=True)
exif = Image.Exif()
exif[0x0112] = 6
Image.fromarray(rgb).save(folder / "turned.webp", lossless=True, exif=exif)
moving = [Image.fromarray(rgb), Image.fromarray(rgb[:, ::-1].copy())]
moving[0].save(folder / "moving.webp", lossless=True, save_all=True, append_images=moving[1:])
shapes.save(folder / "shapes.gif", interlace=0)
shapes.save(folder / "interlaced.gif", interlace=1)
moving[0].save(folder / "moving.gif", save_all=True, append_images=moving[1:])
Image.fromarray(rgb[..., 0]).save(folder / "gray.gif")
Image.fromarray(rgb).save(folder / "rgb.bmp")
Image.fromarray(np.dstack([rgb, rgb[..., 1]])).save(folder / "alpha.bmp")
Image.fromarray(rgb[..., 0]).save(folder / "gray.bmp")
Image.fromarray(rgb[..., 0] > 100).save(folder / "bits.bmp")
shapes.save(folder / "palette.bmp")


def bitmap(bits, packing, pixels, height, extra=b"", colors=b""):
    """A file with BITMAPINFOHEADER."""
    header = struct.pack("<IiiHHIIiiII", 40, 18, height, 1, bits, packing, len(pixels), 0, 0, len(colors) // 4, 0)
    begin = 14 + len(header) + len(extra) + len(colors)
    return b"BM" + struct.pack("<IHHI", begin + len(pixels), 0, 0, begin) + header + extra + colors + pixels


fields = (rgb[..., 0].astype(np.uint16) >> 3 << 11) | (rgb[..., 1].astype(np.uint16) >> 2 << 5) | (rgb[..., 2] >> 3)
masks = struct.pack("<III", 0xF800, 0x7E0, 0x1F)
(folder / "fields.bmp").write_bytes(bitmap(16, 3, fields.astype("<u2").tobytes(), -13, masks))
fifteen = (rgb[..., 0].astype(np.uint16) >> 3 << 10) | (rgb[..., 1].astype(np.uint16) >> 3 << 5) | (rgb[..., 2] >> 3)
(folder / "fifteen.bmp").write_bytes(bitmap(16, 0, fifteen[::-1].astype("<u2").tobytes(), 13))
palette = bytes(v for i in range(16) for v in (i * 16, 255 - i * 16, i * 7, 0))
runs = b"".join(bytes([5, 3, 0, 4, 9, 2, 2, 7, 9, 12, 0, 0]) for _ in range(13)) + b"\0\1"
(folder / "runs.bmp").write_bytes(bitmap(8, 1, runs, 13, b"", palette))
Image.fromarray(rgb).save(folder / "rgb.tif")
Image.fromarray(rgb).save(folder / "deflated.tiff", compression="tiff_deflate")
Image.fromarray(rgb).save(folder / "photo.tif", compression="jpeg", quality=90)
Image.fromarray(np.dstack([rgb, rgb[..., 1]])).save(folder / "alpha.tif", compression="tiff_lzw")
Image.fromarray(rgb[..., 0]).save(folder / "gray.tif")
Image.fromarray(rgb[..., 0] > 100).save(folder / "fax.tif", compression="group4")
shapes.save(folder / "palette.tif")
Image.fromarray(rgb).convert("CMYK").save(folder / "inks.tif")
Image.fromarray(wide).save(folder / "sixteen.tif")
Image.fromarray(rgb).save(folder / "turned.tif", exif=exif)

expected = {}
for path in sorted(path for path in folder.iterdir() if path.suffix != ".json"):
    picture = ImageOps.exif_transpose(Image.open(path))
    if path.stem == "sixteen":
        decoded = np.repeat((wide >> 8).astype(np.uint8)[..., None], 3, axis=-1)
    else:
        decoded = np.asarray(picture.convert("RGB"))
    resized = tf.image.resize(decoded, [5, 7]).numpy()
    expected[path.name] = {
        "shape": list(decoded.shape),
        "pixels": zlib.crc32(decoded.tobytes()),
        "resized": [float(v) for v in resized.flatten()[::11]],
    }
(folder / "expected.json").write_text(json.dumps(expected, indent=1) + "\n")
