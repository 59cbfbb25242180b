"""Makes data/synthetic-reviews: sentences of a made-up grammar that sound like reviews of films, as padded numbers of words, and as texts.

Needs numpy. A review is one to three clauses about a part of a film, each with an opinion that "not" turns round and
"very" doubles. What comes after "but" counts double. The label is the sign of the sum: 1 for what praises the film. So
the words alone do not tell it, and neither does their number: their order does. Nobody wrote these sentences.
"""
from pathlib import Path

import numpy as np

FOLDER = Path(__file__).resolve().parents[2] / "data" / "synthetic-reviews"
STEPS = 24

PARTS = "story plot acting music ending dialogue film script cast pace camera editing".split()
GOOD = "good great moving funny clever warm brilliant gripping charming fresh".split()
BAD = "bad dull weak boring clumsy cold awful slow lifeless stale".split()
OPENERS = "honestly overall personally frankly".split()
OTHERS = "the was and but not very i found".split()
WORDS = ["<padding>", *OTHERS, *OPENERS, *PARTS, *GOOD, *BAD]


def clause(random):
    """The words of an opinion about a part, and how much it praises it."""
    praise = int(random.choice([-1, 1]))
    words = [str(random.choice(GOOD if praise > 0 else BAD))]
    if random.random() < 0.3:
        words.insert(0, "very")
        praise *= 2
    if random.random() < 0.35:
        words.insert(0, "not")
        praise = -praise
    part = ["the", str(random.choice(PARTS))]
    return (["i", "found", *part, *words] if random.random() < 0.4 else [*part, "was", *words]), praise


def review(random):
    """The words of a review and its label; None where praise and blame are even."""
    words = [str(random.choice(OPENERS))] if random.random() < 0.5 else []
    total, weight = 0, 1
    for i in range(random.integers(1, 4)):
        if i > 0:
            joint = str(random.choice(["and", "but"]))
            weight = 2 if joint == "but" else weight
            words.append(joint)
        said, praise = clause(random)
        words += said
        total += weight * praise
    return None if total == 0 or len(words) > STEPS else (words, int(total > 0))


def examples(random, count):
    numbers = {word: number for number, word in enumerate(WORDS)}
    x, y = np.zeros((count, STEPS), np.uint8), np.zeros(count, np.uint8)
    for i in range(count):
        while (made := review(random)) is None:
            pass
        words, y[i] = made
        x[i, :len(words)] = [numbers[word] for word in words]
    return {"x": x, "y": y}


def write(split, arrays):
    np.savez_compressed(FOLDER / f"{split}.npz", **arrays)
    texts = [" ".join(WORDS[word] for word in review if word) for review in arrays["x"]]
    lines = [f"{text},{'praise' if label else 'blame'}" for text, label in zip(texts, arrays["y"])]
    (FOLDER / f"{split}.csv").write_text("\n".join(["text,opinion", *lines]) + "\n")


if __name__ == "__main__":
    FOLDER.mkdir(parents=True, exist_ok=True)
    random = np.random.default_rng(2026)
    write("train", examples(random, 2000))
    write("test", examples(random, 500))
    (FOLDER / "vocabulary.txt").write_text("\n".join(WORDS) + "\n")
    # A text's tokens are the text again: all words but the first with the space before them.
    tokens = [WORDS[0], *WORDS[1:], *(f" {word}" for word in WORDS[1:])]
    (FOLDER / "tokens.txt").write_text("\n".join(tokens) + "\n")
