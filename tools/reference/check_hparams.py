"""Whether TensorBoard's own reader finds each trial's hyperparameters, and their result: check_hparams.py STUDY

STUDY is a folder of `mirrortrain tune`. Ends with 1 where a trial's values or its result are not those of its journal, or where TensorBoard
finds a trial in more than one folder, but for the link to the best one, which it follows. Needs: pip install tensorboard.
"""
import collections
import json
import pathlib
import sys

from tensorboard.backend.event_processing import io_wrapper
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tensorboard.plugins.hparams import api_pb2, plugin_data_pb2


def plugin_data(folder):
    events = EventAccumulator(str(folder))
    events.Reload()
    try:
        found = events.PluginTagToContent("hparams").items()
    except KeyError:  # it has none
        return {}
    return {tag: plugin_data_pb2.HParamsPluginData.FromString(content) for tag, content in found}


def written(value, kind):
    """What TensorBoard has of a value of the journal."""
    if kind == api_pb2.DATA_TYPE_STRING:
        return None if isinstance(value, (dict, list)) else str(value)  # a section is its YAML
    return value


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    study = pathlib.Path(sys.argv[1])
    experiment = plugin_data(study)["_hparams_/experiment"].experiment
    kinds = {info.name: info.type for info in experiment.hparam_infos}
    metric = experiment.metric_infos[0].name
    lines = [json.loads(line) for line in (study / "journal.jsonl").read_text().splitlines()]
    results = {line["trial"]: line for line in lines if line["event"] == "result"}
    trials = [line for line in lines if line["event"] == "trial" and line["trial"] in results]
    wrong = 0
    for line in trials:
        result = results[line["trial"]]
        folder = study / f"trial-{line['trial']:04}"
        data = plugin_data(folder)
        found = {name: getattr(value, value.WhichOneof("kind"))
                 for name, value in data["_hparams_/session_start_info"].session_start_info.hparams.items()}
        expected = {name: written(value, kinds[name]) for name, value in line["parameters"].items()}
        same = found.keys() == expected.keys() and all(e is None or found[n] == e for n, e in expected.items())
        failed = result["status"] == "failed"
        status = data["_hparams_/session_end_info"].session_end_info.status
        ends_so = status == (api_pb2.STATUS_FAILURE if failed else api_pb2.STATUS_SUCCESS)
        scalars = EventAccumulator(str(folder / metric.group))
        scalars.Reload()
        values = [event.value for event in scalars.Scalars(metric.tag)] if metric.tag in scalars.Tags()["scalars"] else []
        # A scalar is a float32.
        has_result = values == [] if failed else len(values) == 1 and abs(values[0] - result["value"]) <= 1e-6 * abs(result["value"])
        if not (same and ends_so and has_result):
            wrong += 1
            print(f"{folder}: {found}, expected {expected}; ends as it should: {ends_so}; {metric.tag}: {values}, expected {result}")
    sessions = collections.Counter()
    for folder in {pathlib.Path(found).resolve() for found in io_wrapper.GetLogdirSubdirectories(str(study))}:
        start = plugin_data(folder).get("_hparams_/session_start_info")
        if start:
            sessions[start.session_start_info.group_name] += 1
    twice = [name for name, count in sessions.items() if count > 1]
    print(f"{len(kinds)} hyperparameters, metric {metric.tag}, {len(trials)} trials, {wrong} wrong, {len(sessions)} sessions, twice: {twice}")
    sys.exit(1 if wrong or twice or len(sessions) != len(trials) else 0)


if __name__ == "__main__":
    main()
