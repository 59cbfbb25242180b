"""Makes data/tiny-shapes/pieces-train.csv and pieces-test.csv: what wooden and acrylic pieces of the shapes in the pictures beside them weigh.

A piece is as large as the picture's shape is, whatever its real size: its width and height are 40 mm. Of a thickness and a weight alone the
material is hardly told, since a square weighs more than twice what a triangle does. The pictures in train/ are those of
pieces-train.csv, each with several pieces.
"""
from math import pi, sqrt
from pathlib import Path
import random

FOLDER = Path(__file__).resolve().parents[2] / "data" / "tiny-shapes"
AREA_MM2 = {"circle": pi / 4 * 40 ** 2, "square": 40 ** 2, "triangle": sqrt(3) / 4 * 40 ** 2}
GRAMS_PER_MM3 = {"beech": 0.00070, "acrylic": 0.00119}


def pieces(split, count):
    """Lines of the table: `count` pieces for each picture of the split."""
    for picture in sorted((FOLDER / split).glob("*/*")):
        for _ in range(count):
            material, thickness = random.choice(sorted(GRAMS_PER_MM3)), random.choice([3, 4, 5, 6, 8])
            weight = AREA_MM2[picture.parent.name] * thickness * GRAMS_PER_MM3[material] * random.gauss(1, 0.05)
            yield f"{picture.relative_to(FOLDER)},{thickness},{weight:.1f},{material}"


if __name__ == "__main__":
    random.seed(2026)
    for split, count in [("train", 6), ("test", 4)]:
        lines = list(pieces(split, count))
        random.shuffle(lines)
        (FOLDER / f"pieces-{split}.csv").write_text("\n".join(["picture,thickness_mm,weight_g,material", *lines]) + "\n")
