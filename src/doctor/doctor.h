#pragma once

#include "doctor/finding.h"
#include "doctor/surroundings.h"

namespace mirrortrain::doctor {

// What may be wrong with a machine, in the order of the report. Nothing is changed; folders are tried with files that
// have no name.

/// Versions of this program and of the system under it.
Findings examine_program(const Surroundings& surroundings);
/// The libraries that this build has: their versions and files; what is missing in it, and what that is for.
Findings examine_libraries(const Surroundings& surroundings);
/// The processor's level, and the level that the executable was built for.
Findings examine_processor(const Surroundings& surroundings);
/// GPUs, their driver and the libraries that training on them needs.
Findings examine_gpus(const Surroundings& surroundings);
/// The limits of the process, of its control group, and of shared memory.
Findings examine_limits(const Surroundings& surroundings);
/// Whether the folders that runs write to can be written, and how much space they have.
Findings examine_folders(const Surroundings& surroundings);
/// The variables that say which cluster this process is in, and what they are understood as. Secrets are not shown.
Findings examine_variables(const Surroundings& surroundings);

/// All of them.
Findings examine(const Surroundings& surroundings);

}  // namespace mirrortrain::doctor
