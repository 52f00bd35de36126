#include "planner/onnx/text.h"

namespace berth {

std::string OneLine(std::string_view text, size_t limit) {
  std::string line;
  for (const char c : text) {
    const auto code = static_cast<unsigned char>(c);
    const bool blank = code <= 0x20 || code == 0x7f;
    if (blank && (line.empty() || line.back() == ' ')) continue;
    if (line.size() >= limit) return line + "...";
    line.push_back(blank ? ' ' : c);
  }
  while (!line.empty() && line.back() == ' ') line.pop_back();
  return line;
}

}  // namespace berth
