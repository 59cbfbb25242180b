"""Makes data/bookshop: how many stars the readers of a made-up bookshop give to its books.

Needs numpy. A reader likes some genres and not others, and a book is of one or two; some readers are generous and some books
are good. The stars are the sum of these and of chance, so that one who knows all but chance is off by 0.6 on average. What a reader has
rated is drawn at random, once for each book. Nobody gave these stars.
"""
from pathlib import Path

import numpy as np

FOLDER = Path(__file__).resolve().parents[2] / "data" / "bookshop"
READERS, BOOKS, GENRES = 200, 80, 3
TRAIN, TEST = 6000, 1500


def stars(random):
    """The stars of every reader for every book, [READERS, BOOKS]."""
    taste = random.normal(0, 1.3, (READERS, GENRES))
    genres = random.dirichlet(np.full(GENRES, 0.3), BOOKS) - 1 / GENRES
    generous, good = random.normal(0, 0.4, (READERS, 1)), random.normal(0, 0.5, BOOKS)
    chance = random.normal(0, 0.6, (READERS, BOOKS))
    return np.clip(np.rint(3.3 + generous + good + taste @ genres.T + chance), 1, 5).astype(int)


if __name__ == "__main__":
    FOLDER.mkdir(parents=True, exist_ok=True)
    random = np.random.default_rng(2026)
    given = stars(random)
    rated = random.permutation(READERS * BOOKS)[:TRAIN + TEST]
    for name, part in [("train", rated[:TRAIN]), ("test", rated[TRAIN:])]:
        lines = [f"{i // BOOKS},{i % BOOKS},{given[i // BOOKS, i % BOOKS]}" for i in part]
        (FOLDER / f"{name}.csv").write_text("\n".join(["reader,book,stars", *lines]) + "\n")
