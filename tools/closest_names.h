// What a mistyped name may have meant.
#pragma once

#include <string>
#include <vector>

namespace berth {

// Up to `limit` of `names`, nearest first: those that contain `name` (whatever the case), then by
// the edits between them. Cost: O(names x length^2), of names cut to 100 bytes.
std::vector<std::string> ClosestNames(const std::vector<std::string>& names,
                                      const std::string& name, size_t limit);

}  // namespace berth
