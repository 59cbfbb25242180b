#include "cluster/sources/local_place.h"

#include <algorithm>
#include <string>

#include "cluster/cluster_rules.h"

namespace mirrortrain {
namespace {

constexpr long kMostGpus = 1024;

/// "2", "h100:2" or, where a job asked for several types, "h100:2,a100:1": the sum.
long gpus_in(const std::string& text, const char* name) {
  long sum = 0;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    const std::string part = text.substr(begin, end - begin);
    const std::string number = part.substr(part.find_last_of(":=") + 1);  // npos + 1 is 0
    const Environment one = [&](const std::string&) { return std::optional(number); };
    sum += *number_in(one, name, 0, kMostGpus);
    begin = end + 1;
  }
  return sum;
}

int gpus(const Environment& environment, const char* name) {
  const std::string text = environment(name).value_or("");
  return text.empty() ? 0 : static_cast<int>(gpus_in(text, name));
}

}  // namespace

LocalPlace local_place(const Environment& environment, const char* rank, const char* size) {
  const auto tasks = number_in(environment, size, 1, kMostTasks);
  const auto index = tasks ? number_in(environment, rank, 0, *tasks - 1) : std::nullopt;
  if (!index) return {};
  return {static_cast<int>(*index), static_cast<int>(*tasks)};
}

LocalPlace local_place_of_srun(const Environment& environment, int index, int tasks) {
  return {index, tasks, gpus(environment, "SLURM_GPUS_PER_TASK"), gpus(environment, "SLURM_GPUS_ON_NODE")};
}

}  // namespace mirrortrain
