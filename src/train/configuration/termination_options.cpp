#include "train/configuration/termination_options.h"

namespace mirrortrain {

config::Section<TerminationOptions> TerminationOptions::section() {
  return config::Section<TerminationOptions>(
             "What happens when the machine is about to be preempted, as announced by SIGTERM or `watch`.")
      .advice("save_fn", "every stop saves a checkpoint in the run's folder; leave it out")
      .key("grace_seconds", &TerminationOptions::grace_seconds,
           "Seconds that training continues after the notice, before the checkpoint and the end; less than the machine "
           "still has, by what a step and a checkpoint take.",
           config::between(0, 86400), config::aliases("grace_period, time_till_termination"))
      .key("exit_code", &TerminationOptions::exit_code,
           "Exit code of a run that ends in this way, for a restart policy that looks for one; null: 143.",
           config::between(0, 255), config::aliases("restart_code, exit_fn"))
      .key(
          "watch", &TerminationOptions::watch,
          "Command for `sh -c` that ends with exit code 0 once the machine is about to be taken away, such as `test -e "
          "/run/preempted` or a request to the cloud's metadata server; null: SIGTERM alone says it.",
          config::non_empty, config::aliases("termination_watcher_fn, termination_watcher_function"))
      .key("watch_every_seconds", &TerminationOptions::watch_every_seconds,
           "Seconds from the end of one run of `watch` to the next.", config::between(0.1, 3600));
}

}  // namespace mirrortrain
