// Names from files: text is UTF-8 or it is refused.
#pragma once

#include <string_view>

namespace berth {

// Well formed as RFC 3629 says: no overlong forms, no surrogates, nothing above U+10FFFF.
bool IsUtf8(std::string_view text);

}  // namespace berth
