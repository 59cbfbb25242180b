// What the help of each command ends with.
#include <map>

#include "cli/usage.h"

namespace mirrortrain::cli {

std::vector<std::string> examples_of(const std::string& command) {
  static const std::map<std::string, std::vector<std::string>> all = {
      {"fit",
       {"fit birds.yaml", "fit birds.yaml --set training.epochs=50 --run-dir runs/longer", "fit --resume birds"}},
      {"tune", {"tune configs/tune-tiny.yaml", "tune configs/tune-tiny.yaml --set search.trials=100 --json t.json"}},
      {"eval", {"eval birds", "eval birds --data new-birds.csv --json -"}},
      {"predict", {"predict birds --data new-birds.csv -o predictions.csv", "predict birds --split test --labels"}},
      {"generate", {"generate shakespeare --prompt 'To be' --tokens 200"}},
      {"export", {"export birds -o birds.onnx", "export birds -o birds.keras"}},
      {"serve", {"serve birds --port 8000"}},
      {"init", {"init birds.csv --label bird", "init pictures/ -o pictures.yaml"}},
      {"bench-allreduce",
       {"bench-allreduce --devices cpu:0,cpu:1", "bench-allreduce -b 8 -e 64M -f 8 --json sums.json"}},
      {"verify", {"verify birds.yaml", "verify birds.yaml --replicas 1,2,3"}},
      {"plan", {"plan birds.yaml --workers 1..64 --network 20us,10Gbit/s"}},
      {"config check", {"config check birds.yaml --thorough"}},
      {"config show", {"config show birds.yaml", "config show birds --set seed=2"}},
      {"config schema", {"config schema"}},
      {"config reference", {"config reference"}},
      {"checkpoint list", {"checkpoint list birds"}},
      {"checkpoint check", {"checkpoint check birds"}},
      {"data", {"data birds.yaml --html birds.html"}},
      {"cache list", {"cache list"}},
      {"cache clean", {"cache clean"}},
      {"devices", {"devices", "devices --libraries"}},
      {"doctor", {"doctor", "doctor --json found.json"}},
      {"runs", {"runs", "runs runs/birds-sweep --metric accuracy"}},
      {"report", {"report birds", "report runs/birds runs/birds-2 -o both.html"}},
      {"launch",
       {"launch --workers 2 -- fit configs/multi-worker-fashion.yaml",
        "launch --hosts one,two -- fit configs/multi-worker-fashion.yaml"}},
  };
  const std::size_t space = command.find(' ');
  const auto found = all.find(space == command.npos ? "" : command.substr(space + 1));
  std::vector<std::string> examples;
  if (found == all.end()) return examples;
  for (const std::string& example : found->second) examples.push_back(command.substr(0, space) + " " + example);
  return examples;
}

}  // namespace mirrortrain::cli
