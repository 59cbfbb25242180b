#pragma once

#include <ctime>
#include <string>

#include "cluster/cluster_options.h"

namespace mirrortrain::rpc {

/// The contents of the TLS files.
struct TlsTexts {
  std::string certificate, key, authority;
};

/// Throws UsageError for anything that would fail every handshake, with the key, file, reason and remedy: a file that
/// is not PEM, a key that belongs to another certificate or has a pass phrase, a certificate not signed by the
/// authority, or a certificate of either not valid at `now`.
void require_usable(const TlsOptions& files, const TlsTexts& texts, std::time_t now);

}  // namespace mirrortrain::rpc
