#include "train/configuration/logging_options.h"

#include <string>

namespace mirrortrain {
namespace {

/// Of a key whose results are in TensorBoard's files alone.
auto needs_tensorboard(bool (*is_on)(const LoggingOptions&)) {
  return [is_on](const LoggingOptions& options) -> std::string {
    return is_on(options) && !options.tensorboard
               ? "it is written into TensorBoard's files; leave out tensorboard: false"
               : "";
  };
}

}  // namespace

config::Section<LoggingOptions> LoggingOptions::section() {
  return config::Section<LoggingOptions>("What is logged during training.")
      .advice("verbose", "it is an option of the command line: fit -v prints more, fit -q less; leave it out")
      .advice("write_graph", "the model's graph is always written into TensorBoard's files; leave it out")
      .key("every_steps", &LoggingOptions::every_steps, "Number of steps between two logged steps.",
           config::at_least(1), config::aliases("log_every, log_steps, log_every_n_steps, logging_steps, update_freq"))
      .key("tensorboard", &LoggingOptions::tensorboard,
           "Whether to write TensorBoard's files: scalars, the configuration, the model's graph, and what the keys "
           "below add.")
      .key("report", &LoggingOptions::report,
           "Whether to write report.html, a page with the run's curves and figures, at the end, unless the run is "
           "stopped before it.")
      .key("csv", &LoggingOptions::csv,
           "Whether to write epochs.csv, a line with the figures of each epoch, as Keras's CSVLogger does.",
           config::aliases("csv_logger, csv_log"))
      .key("histograms", &LoggingOptions::histograms,
           "Number of epochs from one histogram of each of the model's variables to the next, in TensorBoard's files; "
           "null: none.",
           config::at_least(1), config::aliases("histogram_freq, write_histograms"))
      .key("gradient_histograms", &LoggingOptions::gradient_histograms,
           "The same of the gradient of each variable in the epoch's last step; null: none. Gradients are then kept, "
           "which takes memory.",
           config::at_least(1), config::aliases("write_grads"))
      .key("gradient_norms", &LoggingOptions::gradient_norms,
           "Whether each logged step has the norm of its gradient, of the whole and of each layer: of the global "
           "batch's mean loss, regularization included, before clipping. Gradients are then kept, which takes memory.",
           config::aliases("log_gradient_norm, log_grad_norm, track_grad_norm"))
      .key("images", &LoggingOptions::images,
           "Number of pictures in TensorBoard's files of the first batch, as the layers get them, and of the worst "
           "mistakes at the end, for a model whose inputs are pictures.",
           config::between(0, 24), config::aliases("write_images"))
      .check("histograms",
             needs_tensorboard([](const LoggingOptions& options) { return options.histograms.has_value(); }))
      .check("gradient_histograms",
             needs_tensorboard([](const LoggingOptions& options) { return options.gradient_histograms.has_value(); }))
      .check("images", needs_tensorboard([](const LoggingOptions& options) { return options.images > 0; }));
}

}  // namespace mirrortrain
