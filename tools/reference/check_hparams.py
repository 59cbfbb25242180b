"""Whether TensorBoard's own reader finds each trial's hyperparameters, and their result: check_hparams.py STUDY

STUDY is a folder of `mirrortrain tune`. Ends with 1 where a trial's values are not those of its journal. Needs: pip install tensorboard.
"""
import json
import pathlib
import sys

from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tensorboard.plugins.hparams import api_pb2, plugin_data_pb2


def plugin_data(folder):
    events = EventAccumulator(str(folder))
    events.Reload()
    return {tag: plugin_data_pb2.HParamsPluginData.FromString(content)
            for tag, content in events.PluginTagToContent("hparams").items()}


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
    failed = {line["trial"] for line in lines if line.get("status") == "failed"}
    wrong = 0
    for line in lines:
        if line["event"] != "trial":
            continue
        folder = study / f"trial-{line['trial']:04}"
        if not folder.exists():
            continue
        data = plugin_data(folder)
        found = {name: getattr(value, value.WhichOneof("kind"))
                 for name, value in data["_hparams_/session_start_info"].session_start_info.hparams.items()}
        expected = {name: written(value, kinds[name]) for name, value in line["parameters"].items()}
        same = found.keys() == expected.keys() and all(e is None or found[n] == e for n, e in expected.items())
        status = data["_hparams_/session_end_info"].session_end_info.status
        ends_so = status == (api_pb2.STATUS_FAILURE if line["trial"] in failed else api_pb2.STATUS_SUCCESS)
        scalars = EventAccumulator(str(folder / metric.group))
        scalars.Reload()
        has_metric = line["trial"] in failed or metric.tag in scalars.Tags()["scalars"]
        if not (same and ends_so and has_metric):
            wrong += 1
            print(f"{folder}: {found}, expected {expected}; ends as it should: {ends_so}; has {metric.tag}: {has_metric}")
    print(f"{len(kinds)} hyperparameters, metric {metric.group}/{metric.tag}, {sum(l['event'] == 'trial' for l in lines)} trials, {wrong} wrong")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
