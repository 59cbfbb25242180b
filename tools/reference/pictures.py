"""Small pictures in tests/pictures and what Pillow and tf.image make of them: tests/pictures/expected.json.

pixels: CRC-32 of the decoded bytes [height, width, channels]. resized: tf.image.resize (bilinear, no antialiasing) to 5 x 7."""

import json
import pathlib
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

expected = {}
for path in sorted(path for path in folder.iterdir() if path.suffix != ".json"):
    picture = ImageOps.exif_transpose(Image.open(path))
    if path.name == "sixteen.png":
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
