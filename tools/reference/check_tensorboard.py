"""Prints the scalars of an events file as TensorBoard's own reader sees them: check_tensorboard.py RUN_FOLDER_OR_FILE

Ends with 1 where the reader finds none. Needs: pip install tensorboard.
"""
import sys

from tensorboard.backend.event_processing.event_accumulator import EventAccumulator


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    events = EventAccumulator(sys.argv[1], size_guidance={"scalars": 0})  # 0: keep every point
    events.Reload()
    tags = events.Tags()["scalars"]
    for tag in tags:
        points = events.Scalars(tag)
        steps = [point.step for point in points]
        ordered = "in order" if steps == sorted(steps) else "OUT OF ORDER"
        print(f"{tag}: {len(points)} points, steps {steps[0]} to {steps[-1]} {ordered}, last value {points[-1].value:.9g}, "
              f"{points[-1].wall_time - points[0].wall_time:.3f} s")
    if not tags:
        sys.exit(f"{sys.argv[1]}: TensorBoard's reader finds no scalars")


if __name__ == "__main__":
    main()
