// Changes an ONNX model as a message: fields get odd values, parts come twice, go, or change
// places. What results still parses, so that the checks behind the parser are reached.
#pragma once

#include <cstddef>
#include <cstdint>

namespace berth {

// In place; the new size. A model that does not parse, or would not fit, becomes an empty one.
size_t MutateModel(uint8_t* data, size_t size, size_t max_size, unsigned int seed);

}  // namespace berth
