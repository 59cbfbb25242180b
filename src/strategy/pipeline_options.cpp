#include "strategy/pipeline_options.h"

namespace mirrortrain {

config::Section<PipelineOptions> PipelineOptions::section() {
  return config::Section<PipelineOptions>(
             "Layers in stages, each on devices of its own, which compute microbatches one after the other: while one "
             "stage computes a microbatch, the stage before it computes the next.")
      .key("split_before", &PipelineOptions::split_before,
           "The layers, or uses of blocks, that the stages after the first one begin with, in the model's order.",
           config::required, config::non_empty, config::aliases("split_points, boundaries"))
      .key("microbatches", &PipelineOptions::microbatches,
           "How many parts a replica's part of the global batch is divided into. The more there are, the less time the "
           "stages wait for each other; several times the stages are usual.",
           config::required, config::between(1, 1024),
           config::aliases("num_microbatches, micro_batches, chunks, gradient_accumulation_steps"));
}

}  // namespace mirrortrain
