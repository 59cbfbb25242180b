#pragma once

#include <string>

#include "cluster/environment.h"

namespace mirrortrain {

// A cluster's token: the secret by which its tasks know each other.

/// The variable with the token, which `launch` sets for its tasks; strategy.cluster.token_file comes before it.
inline constexpr const char* kTokenVariable = "MIRRORTRAIN_TOKEN";

/// The variable's text without outer spaces; empty if there is none. Throws UsageError for what require_token refuses.
std::string token_of(const Environment& environment);

/// Throws UsageError, beginning with `source`, unless the token is one line of printable ASCII characters.
void require_token(const std::string& token, const std::string& source);

/// 256 random bits of the system, in hexadecimal.
std::string new_token();

}  // namespace mirrortrain
