#include "tools/npy.h"

#include <array>
#include <charconv>
#include <cstring>

#include "base/write_file.h"
#include "runtime/bundle/mapping.h"

namespace berth {
namespace {

struct Descr {
  std::string_view text;
  DType dtype;
};
constexpr std::array<Descr, 12> kDescrs = {{{"<f4", DType::kFloat32},
                                            {"<f2", DType::kFloat16},
                                            {"<f8", DType::kFloat64},
                                            {"|i1", DType::kInt8},
                                            {"|u1", DType::kUInt8},
                                            {"<i2", DType::kInt16},
                                            {"<u2", DType::kUInt16},
                                            {"<i4", DType::kInt32},
                                            {"<u4", DType::kUInt32},
                                            {"<i8", DType::kInt64},
                                            {"<u8", DType::kUInt64},
                                            {"|b1", DType::kBool}}};

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr size_t kHeaderAlignment = 64;

// The text behind `key` in the header's dictionary.
std::string_view After(std::string_view header, std::string_view key) {
  const size_t at = header.find(key);
  if (at == std::string_view::npos) return {};
  std::string_view rest = header.substr(at + key.size());
  rest.remove_prefix(std::min(rest.find_first_not_of(": "), rest.size()));
  return rest;
}

absl::StatusOr<Shape> ParseShape(std::string_view text) {
  if (text.empty() || text.front() != '(') return InvalidArgument("header without a shape");
  text = text.substr(1, text.find(')') - 1);
  std::vector<int64_t> extents;
  while (true) {
    text.remove_prefix(std::min(text.find_first_not_of(", "), text.size()));
    if (text.empty()) break;
    int64_t extent = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), extent);
    if (error != std::errc()) return InvalidArgument("shape '({})' in the header", text);
    extents.push_back(extent);
    text.remove_prefix(static_cast<size_t>(end - text.data()));
  }
  return Shape::Create(std::move(extents));
}

absl::StatusOr<TensorType> ParseHeader(std::string_view header) {
  if (After(header, "'fortran_order'").substr(0, 4) == "True") {
    return Unimplemented("column-major order");
  }
  const std::string_view descr = After(header, "'descr'");
  TensorType type;
  for (const Descr& known : kDescrs) {
    if (descr.size() > 4 && descr.substr(1, 3) == known.text) type.dtype = known.dtype;
  }
  if (type.dtype == DType::kUndefined) {
    return Unimplemented("element type {}", descr.substr(0, descr.find(',')));
  }
  BERTH_ASSIGN_OR_RETURN(type.shape, ParseShape(After(header, "'shape'")));
  return type;
}

absl::StatusOr<Tensor> Parse(absl::Span<const std::byte> file) {
  const std::string_view text(reinterpret_cast<const char*>(file.data()), file.size());
  if (text.size() < 10 || text.substr(0, kMagic.size()) != kMagic) {
    return InvalidArgument("not a .npy file");
  }
  const size_t length_bytes = text[6] == 1 ? 2 : 4;
  const size_t header_begin = 8 + length_bytes;
  if (text.size() < header_begin) return InvalidArgument("truncated header");
  uint32_t header_bytes = 0;
  std::memcpy(&header_bytes, text.data() + 8, length_bytes);
  if (header_bytes > text.size() - header_begin) return InvalidArgument("truncated header");
  BERTH_ASSIGN_OR_RETURN(TensorType type, ParseHeader(text.substr(header_begin, header_bytes)));
  const size_t data_begin = header_begin + header_bytes;
  if (static_cast<size_t>(type.ByteCount()) != text.size() - data_begin) {
    return InvalidArgument("{} needs {} bytes, the file has {}", type.ToString(), type.ByteCount(),
                           text.size() - data_begin);
  }
  Tensor tensor(std::move(type));
  if (!tensor.bytes().empty()) {
    std::memcpy(tensor.bytes().data(), text.data() + data_begin, tensor.bytes().size());
  }
  return tensor;
}

}  // namespace

absl::StatusOr<Tensor> ReadNpy(const std::string& path) {
  BERTH_ASSIGN_OR_RETURN(const std::unique_ptr<FileMapping> file, FileMapping::Open(path));
  absl::StatusOr<Tensor> tensor = Parse(file->bytes());
  if (!tensor.ok()) return Annotate(tensor.status(), fmt::format("'{}'", path));
  return tensor;
}

absl::Status WriteNpy(const std::string& path, const ConstTensorView& tensor) {
  std::string_view descr = "<u2";
  for (const Descr& known : kDescrs) {
    if (known.dtype == tensor.type.dtype) descr = known.text;
  }
  std::string shape;
  for (const int64_t extent : tensor.type.shape) shape += fmt::format("{}, ", extent);
  if (tensor.type.shape.rank() > 1) shape.resize(shape.size() - 2);
  std::string header =
      fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}), }}", descr, shape);
  const size_t unpadded = kMagic.size() + 4 + header.size() + 1;
  header.append((kHeaderAlignment - unpadded % kHeaderAlignment) % kHeaderAlignment, ' ');
  header.push_back('\n');
  std::string file(kMagic);
  file += std::string("\x01\x00", 2);
  file.push_back(static_cast<char>(header.size() & 0xff));
  file.push_back(static_cast<char>(header.size() >> 8));
  file += header;
  file.append(reinterpret_cast<const char*>(tensor.data),
              static_cast<size_t>(tensor.type.ByteCount()));
  return WriteFile(path, file);
}

}  // namespace berth
