"""Tries what becomes of a training when something goes wrong, with mirrortrain, Keras, PyTorch and Lightning.
Prints the table of docs/reliability.md.

    python3 tools/reference/reliability.py [--only ROW] [--tool NAME] [--mirrortrain FILE] [--keep DIR]

Needs tensorflow-cpu, keras, torch, lightning and cc, and root for `full-disk`, which mounts a small tmpfs. About 20 minutes
on two idle cores. What each training printed stays with --keep.
"""

import argparse
import sys
import tempfile
from pathlib import Path

sys.dont_write_bytecode = True
HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE / "reliability_peers"))

import trials  # noqa: E402
from examples import write_data  # noqa: E402
from tools import all_tools  # noqa: E402
from trainings import Job  # noqa: E402

ROWS = {
    "sigkill": (trials.sigkill, "SIGKILL in the middle of an epoch, resumed: the same weights, bit for bit"),
    "sigterm": (trials.sigterm, "SIGTERM: every step is saved; exit code"),
    "killed-while-saving": (trials.killed_while_saving, "SIGKILL while a checkpoint is written, 20 times: resumes by itself"),
    "flipped-bit": (trials.flipped_bit, "one flipped bit in the newest checkpoint's weights, 10 times: noticed"),
    "full-disk": (trials.full_disk, "the disk is full when a checkpoint is written; resumed when there is room again"),
    "nan": (trials.not_a_number, "the loss becomes NaN in the middle of an epoch"),
    "two-processes": (trials.two_processes, "a second process in the same run folder: refused"),
    "other-run": (trials.other_run, "resumed with another model / seed / data: refused"),
    "hanging-reader": (trials.hanging_reader, "reading an example hangs: noticed"),
}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", choices=ROWS, action="append", help="this row; may be given several times")
    parser.add_argument("--tool", action="append", help="this tool; may be given several times")
    parser.add_argument("--mirrortrain", default=HERE.parents[1] / "build" / "mirrortrain", type=Path)
    parser.add_argument("--keep", type=Path, help="a folder for the runs and what they print; default: none is kept")
    args = parser.parse_args()
    tools = [tool for tool in all_tools(args.mirrortrain.resolve()) if not args.tool or tool.name in args.tool]
    table = [["what happens", *(tool.name for tool in tools)], ["---"] * (len(tools) + 1)]
    with tempfile.TemporaryDirectory() as temporary:
        for row in args.only or ROWS:
            trial, title = ROWS[row]
            table.append([title, *(tried(trial, tool, (args.keep or Path(temporary)) / row / tool.name) for tool in tools)])
    print("\n".join(f"| {' | '.join(cells)} |" for cells in table))
    print("\n" + ", ".join(tool.versions() for tool in tools))


def tried(trial, tool, folder):
    trials.remove(folder)
    folder.mkdir(parents=True)
    write_data(folder / "data")
    print(f"{trial.__name__}: {tool.name}", flush=True)
    found = trial(tool, Job(folder / "run", folder / "data"))
    print(f"  {found}", flush=True)
    return found


if __name__ == "__main__":
    main()
