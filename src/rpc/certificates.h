#pragma once

#include <ctime>
#include <string>

#include "cluster/cluster_options.h"

namespace mirrortrain::rpc {

/// What the files of TLS hold.
struct TlsTexts {
  std::string certificate, key, authority;
};

/// Throws UsageError for what would end every handshake, with its key, file, reason and remedy: a file that is no PEM
/// file, a key that is another certificate's or has a pass phrase, a certificate that the authority has not signed, or
/// one of either that is not valid at `now`.
void require_usable(const TlsOptions& files, const TlsTexts& texts, std::time_t now);

}  // namespace mirrortrain::rpc
