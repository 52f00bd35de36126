#include "base/utf8.h"

#include <cstddef>
#include <cstdint>

namespace berth {
namespace {

struct Lead {
  size_t following = 0;  // bytes behind the first
  uint32_t bits = 0;     // of the first byte
  uint32_t least = 0;    // code point; anything lower has a shorter form
};

// False for a byte that begins nothing.
bool ReadLead(uint8_t byte, Lead& lead) {
  if (byte < 0x80) {
    lead = {0, byte, 0};
  } else if (byte >= 0xc0 && byte < 0xe0) {
    lead = {1, byte & 0x1fu, 0x80};
  } else if (byte >= 0xe0 && byte < 0xf0) {
    lead = {2, byte & 0x0fu, 0x800};
  } else if (byte >= 0xf0 && byte < 0xf8) {
    lead = {3, byte & 0x07u, 0x10000};
  } else {
    return false;
  }
  return true;
}

}  // namespace

bool IsUtf8(std::string_view text) {
  for (size_t i = 0; i < text.size();) {
    Lead lead;
    if (!ReadLead(static_cast<uint8_t>(text[i]), lead)) return false;
    if (lead.following >= text.size() - i) return false;
    uint32_t code_point = lead.bits;
    for (size_t k = 1; k <= lead.following; ++k) {
      const auto byte = static_cast<uint8_t>(text[i + k]);
      if ((byte & 0xc0) != 0x80) return false;
      code_point = code_point << 6 | (byte & 0x3fu);
    }
    const bool is_surrogate = code_point >= 0xd800 && code_point < 0xe000;
    if (code_point < lead.least || code_point > 0x10ffff || is_surrogate) return false;
    i += lead.following + 1;
  }
  return true;
}

}  // namespace berth
