#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace mirrortrain {

enum class ContentCoding { kIdentity, kZlib };  ///< kZlib: gzip and deflate, which zlib recognizes

/// What `Content-Encoding` names; throws Refused (415) for what is not understood here. `name`: empty if not sent.
ContentCoding content_coding_of(std::string_view name);

/// A body inflated. Throws Refused if it is damaged or incomplete (400), or has more than `most` bytes (413).
std::string inflated(std::string_view body, std::size_t most);

}  // namespace mirrortrain
