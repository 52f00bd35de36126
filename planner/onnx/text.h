// Text from a model file made fit for a one-line error message.
#pragma once

#include <string>
#include <string_view>

namespace berth {

// Control characters become spaces, runs of spaces one; longer than `limit` bytes is cut with
// "...".
std::string OneLine(std::string_view text, size_t limit = 300);

}  // namespace berth
