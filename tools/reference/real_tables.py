"""Makes data/penguins and data/diamonds from the tables in two Python packages.

real_tables.py FOLDER: the folder into which both packages were installed by
pip install --no-deps --target FOLDER palmerpenguins==0.1.6 plotnine==0.15.9

Rows are drawn and shared out between train.csv and test.csv by a fixed seed; cells are as they were, but for the units of what is
to be predicted: kilograms and thousands of dollars.
"""
import csv
from pathlib import Path
import random
import sys

DATA = Path(__file__).resolve().parents[2] / "data"


def rows_of(path):
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


def in_thousands(cell):
    return cell if cell == "NA" else f"{int(cell) / 1000:g}"


def write(path, rows):
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "w", newline="") as file:
        writer = csv.DictWriter(file, rows[0], lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def write_splits(name, rows, train, test):
    random.seed(2026)
    drawn = random.sample(rows, train + test)
    write(DATA / name / "train.csv", drawn[:train])
    write(DATA / name / "test.csv", drawn[train:])


if __name__ == "__main__":
    packages = Path(sys.argv[1])
    penguins = [{"species": row["species"], "sex": row["sex"], "body_mass_kg": in_thousands(row["body_mass_g"]),
                 **{key: row[key] for key in ("island", "bill_length_mm", "bill_depth_mm", "flipper_length_mm")}}
                for row in rows_of(packages / "palmerpenguins/data/penguins.csv")]
    write_splits("penguins", penguins, 264, 80)
    diamonds = [{**{key: row[key] for key in ("carat", "depth", "table", "cut", "color", "clarity")},
                 "price_thousand": in_thousands(row["price"])} for row in rows_of(packages / "plotnine/data/diamonds.csv")]
    write_splits("diamonds", diamonds, 4000, 1000)
