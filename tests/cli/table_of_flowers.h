#pragma once

#include <string>

#include "cli/program.h"

namespace mirrortrain::testing {

/// Flowers of three kinds by two features, in a CSV file.
struct TableOfFlowers {
  TemporaryFolder folder;
  TableOfFlowers() {
    std::string rows = "length,width,kind\n";
    for (int i = 0; i < 60; ++i) rows += fmt::format("{},{},{}\n", 0.1 * (i % 7) + i % 3, 0.05 * (i % 5), i % 3);
    write_file(folder / "flowers.csv", rows);
  }

  /// fit's answer with these parts of the configuration.
  Outcome fit(const std::string& last, const std::string& loss, const std::string& more = "",
              const std::string& arguments = "") {
    write_file(folder / "m.yaml", fmt::format(R"(data:
  global_batch_size: 20
  train: {{format: csv, file: flowers.csv, labels: kind}}
model:
  input_shape: [2]
  layers:
    - dense: {{units: 8, activation: relu}}
    - dense: {}
loss: {}
optimizer: sgd
{})",
                                              last, loss, more));
    fs::remove_all(folder / "runs");
    return run_program(folder, "fit m.yaml " + arguments);
  }
};

inline constexpr const char* kSparse = "{type: sparse_categorical_crossentropy, from_logits: true}";

}  // namespace mirrortrain::testing
