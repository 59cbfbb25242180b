"""What Optuna 5's TPESampler makes of trials, with its defaults: tests/golden/tpe.json.

`cases`: a search space, trials with their losses, and uniform numbers: stream 0 chooses the kernel of each candidate, stream 1 + i draws
its i-th parameter. Then the candidates, the logarithms of both densities at each, and the values of the best one.

`functions`: test functions of Optuna's benchmarks and of mixed spaces, each with the median over seeds of the best value after so many
trials, of TPESampler with multivariate True and False, and of RandomSampler. `network` is a function of that kind: the validation loss of
a network after two epochs, by learning rate, units and momentum, from a table of all 512 runs; `grid` is the same with lists of values, in
which Optuna repeats 15 of 64 trials on average. The table is measured by

    build/mirrortrain tune tools/reference/tpe_grid.yaml --run-dir grid --json grid.json

and handed over; without a table the file's own stays.

    pip install optuna==5.0.0 && python tools/reference/optuna_tpe.py [grid.json]"""

import json
import math
import pathlib
import statistics
import sys
import warnings

import numpy as np
import optuna
from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.samplers._tpe.parzen_estimator import _ParzenEstimator
from optuna.samplers._tpe.sampler import default_gamma

GOLDEN = pathlib.Path(__file__).resolve().parents[2] / "tests/golden/tpe.json"
CANDIDATES = 24

REAL = {"kind": "real", "low": -3.0, "high": 5.0}
LOG = {"kind": "real", "low": 1e-5, "high": 0.1, "log": True}
STEPS = {"kind": "real", "low": 0.0, "high": 1.0, "step": 0.25}
INTEGER = {"kind": "integer", "low": 1, "high": 12}
LOG_INTEGER = {"kind": "integer", "low": 4, "high": 512, "log": True}
CHOICE = {"kind": "choice", "choices": 4}


def distribution(parameter):
    if parameter["kind"] == "choice":
        return CategoricalDistribution(list(range(parameter["choices"])))
    options = {"log": parameter.get("log", False), "step": parameter.get("step")}
    if parameter["kind"] == "integer":
        return IntDistribution(parameter["low"], parameter["high"], log=options["log"], step=options["step"] or 1)
    return FloatDistribution(parameter["low"], parameter["high"], **options)


class GivenNumbers:
    """In place of numpy's RandomState: the numbers of the case's streams."""

    def __init__(self, streams, parameters):
        self.kernels = np.array(streams[0])
        self.choices = [np.array(s) for s, p in zip(streams[1:], parameters) if p["kind"] == "choice"]
        self.numbers = [np.array(s) for s, p in zip(streams[1:], parameters) if p["kind"] != "choice"]

    def choice(self, count, p, size):
        return np.searchsorted(np.cumsum(p) / np.sum(p), self.kernels, side="right")

    def rand(self, size):
        return self.choices.pop(0)

    def uniform(self, low, high, size):
        return np.array(self.numbers).reshape(size)


def case(parameters, count, seed):
    random = np.random.RandomState(seed)
    space = {f"p{i}": distribution(p) for i, p in enumerate(parameters)}
    drawn = optuna.samplers._tpe.parzen_estimator._ParzenEstimator({k: np.array([]) for k in space}, space, PARAMETERS)
    values = drawn.sample(random, count)
    trials = [[float(values[k][i]) for k in space] for i in range(count)]
    losses = [float(x) for x in random.normal(size=count)]
    streams = random.uniform(size=(1 + len(parameters), CANDIDATES))
    order = sorted(range(count), key=lambda i: losses[i])
    good = sorted(order[: default_gamma(count)])
    others = [i for i in range(count) if i not in good]
    estimators = [_ParzenEstimator({k: np.array([trials[i][j] for i in part]) for j, k in enumerate(space)}, space, PARAMETERS)
                  for part in (good, others)]
    candidates = estimators[0].sample(GivenNumbers(streams, parameters), CANDIDATES)
    logs = [estimator.log_pdf(candidates) for estimator in estimators]
    best = int(np.argmax(logs[0] - logs[1]))
    listed = [[float(candidates[k][i]) for k in space] for i in range(CANDIDATES)]
    return {"parameters": parameters, "trials": trials, "losses": losses, "uniforms": streams.tolist(), "candidates": listed,
            "log_good": logs[0].tolist(), "log_others": logs[1].tolist(), "best": listed[best]}


def sphere(trial):
    return sum((trial.suggest_float(f"x{i}", -5, 5) - i) ** 2 for i in range(3))


def branin(trial):
    x, y = trial.suggest_float("x0", -5, 10), trial.suggest_float("x1", 0, 15)
    bend = y - 5.1 / (4 * math.pi**2) * x * x + 5 / math.pi * x - 6
    return bend * bend + 10 * (1 - 1 / (8 * math.pi)) * math.cos(x) + 10


def rosenbrock(trial):
    x = [trial.suggest_float(f"x{i}", -2, 2) for i in range(3)]
    return sum(100 * (b - a * a) ** 2 + (1 - a) ** 2 for a, b in zip(x, x[1:]))


def mixed(trial):
    rate = trial.suggest_float("x0", 1e-5, 1, log=True)
    units = trial.suggest_int("x1", 8, 512, log=True)
    layers = trial.suggest_int("x2", 1, 6)
    kind = trial.suggest_categorical("x3", [0, 1, 2, 3])
    return ((math.log10(rate) + 2.5) ** 2 + (math.log2(units) - 7) ** 2 / 4 + (layers - 3) ** 2 / 4 + [0.8, 0.0, 0.4, 1.2][kind])


def table_from(file):
    """The losses of a study on a grid, whose last parameter changes fastest, and the three lists of values."""
    study = json.loads(pathlib.Path(file).read_text())
    trials = sorted(study["trials"], key=lambda trial: trial["trial"])
    names = list(trials[0]["parameters"])
    values = [sorted({trial["parameters"][name] for trial in trials}) for name in names]
    return {"values": values, "losses": [trial["value"] for trial in trials]}


def network(trial):
    rates, units, momenta = TABLE["values"]
    rate = trial.suggest_float("x0", rates[0], rates[-1], log=True)
    unit = trial.suggest_categorical("x1", list(range(len(units))))
    momentum = trial.suggest_int("x2", 0, len(momenta) - 1)
    share = math.log(rate / rates[0]) / math.log(rates[-1] / rates[0])
    return TABLE["losses"][(round(share * (len(rates) - 1)) * len(units) + unit) * len(momenta) + momentum]


def grid(trial):
    """The same where every parameter is a list of values."""
    rate, unit, momentum = (trial.suggest_categorical(f"x{i}", list(range(len(values)))) for i, values in enumerate(TABLE["values"]))
    return TABLE["losses"][(rate * len(TABLE["values"][1]) + unit) * len(TABLE["values"][2]) + momentum]


def median_of_best(function, sampler, trials, seeds, **options):
    best = []
    for seed in range(seeds):
        study = optuna.create_study(sampler=sampler(seed=seed, **options))
        study.optimize(function, n_trials=trials)
        best.append(study.best_value)
    return statistics.median(best)


def functions():
    made = []
    for function in (sphere, branin, rosenbrock, mixed, network, grid):
        trials, seeds = (64 if function in (network, grid) else 80), 20
        tpe = [median_of_best(function, optuna.samplers.TPESampler, trials, seeds, multivariate=together, n_startup_trials=10)
               for together in (True, False)]
        made.append({"name": function.__name__, "trials": trials, "seeds": seeds, "tpe": tpe[0], "tpe_univariate": tpe[1],
                     "random": median_of_best(function, optuna.samplers.RandomSampler, trials, seeds)})
    return made


argsort = np.argsort
# In which order it puts equal numbers depends on the processor otherwise, and with it the widths of their kernels.
np.argsort = lambda values, kind="stable": argsort(values, kind=kind)
warnings.simplefilter("ignore")
optuna.logging.set_verbosity(optuna.logging.ERROR)
PARAMETERS = optuna.samplers.TPESampler()._parzen_estimator_parameters
spaces = [[REAL], [LOG], [STEPS], [INTEGER], [LOG_INTEGER], [CHOICE], [REAL, LOG, STEPS, INTEGER, LOG_INTEGER, CHOICE]]
TABLE = table_from(sys.argv[1]) if len(sys.argv) > 1 else json.loads(GOLDEN.read_text())["table"]
golden = {"table": TABLE, "cases": [case(space, count, 100 * i + count) for i, space in enumerate(spaces) for count in (1, 12, 60)],
          "functions": functions()}
GOLDEN.write_text(json.dumps(golden) + "\n")
print(json.dumps(golden["functions"], indent=1))
