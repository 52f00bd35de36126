// .npy files: round trips, and every way to be wrong.
#include "tools/npy.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "tests/planner/model_builder.h"

namespace berth {
namespace {

std::string FileOf(const std::string& dictionary, const std::string& data, char version = 1) {
  std::string header = dictionary;
  std::string file = std::string("\x93NUMPY") + version + '\0';
  header += '\n';
  file += static_cast<char>(header.size() & 0xff);
  file += static_cast<char>(header.size() >> 8);
  if (version > 1) file += std::string(2, '\0');
  return file + header + data;
}

class NpyTest : public ::testing::Test {
 protected:
  absl::StatusOr<Tensor> Read(const std::string& bytes) {
    return ReadNpy(folder_.Write("x.npy", bytes));
  }
  void ExpectRefused(const std::string& bytes, const std::string& reason) {
    const absl::StatusOr<Tensor> tensor = Read(bytes);
    ASSERT_FALSE(tensor.ok()) << reason;
    const std::string message(ToStd(tensor.status().message()));
    EXPECT_NE(message.find(reason), std::string::npos) << message;
    EXPECT_NE(message.find("x.npy"), std::string::npos) << message;
  }
  ScratchFolder folder_;
};

const char* const kFloats2x2 = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 2), }";

TEST_F(NpyTest, RoundTripsEveryDType) {
  for (const DType dtype : {DType::kFloat32, DType::kFloat16, DType::kFloat64, DType::kInt8,
                            DType::kUInt8, DType::kInt16, DType::kUInt16, DType::kInt32,
                            DType::kUInt32, DType::kInt64, DType::kUInt64, DType::kBool}) {
    for (const Shape& shape : {Shape{}, Shape{3}, Shape{2, 3}, Shape{1, 0, 2}}) {
      Tensor tensor(TensorType{dtype, shape});
      for (size_t i = 0; i < tensor.bytes().size(); ++i) {
        tensor.bytes()[i] = static_cast<std::byte>(dtype == DType::kBool ? i % 2 : i);
      }
      const std::string path = (folder_.path() / "t.npy").string();
      ASSERT_TRUE(WriteNpy(path, tensor.view()).ok());
      const absl::StatusOr<Tensor> back = ReadNpy(path);
      ASSERT_TRUE(back.ok()) << back.status();
      EXPECT_EQ(back->type().ToString(), tensor.type().ToString());
      EXPECT_TRUE(std::equal(back->bytes().begin(), back->bytes().end(), tensor.bytes().begin()));
    }
  }
}

TEST_F(NpyTest, ReadsHeadersOfOtherWriters) {
  const std::string data(16, '\1');
  EXPECT_TRUE(Read(FileOf(kFloats2x2, data)).ok());
  EXPECT_TRUE(Read(FileOf(kFloats2x2, data, 2)).ok());
  EXPECT_TRUE(Read(FileOf(kFloats2x2, data, 3)).ok());
  // No blanks, other order of the keys, padded.
  EXPECT_TRUE(Read(FileOf("{'shape':(2,2),'fortran_order':False,'descr':'<f4'}", data)).ok());
  EXPECT_TRUE(Read(FileOf(std::string(kFloats2x2) + "          ", data)).ok());
  const absl::StatusOr<Tensor> scalar =
      Read(FileOf("{'descr': '<f4', 'fortran_order': False, 'shape': (), }", "\1\1\1\1"));
  ASSERT_TRUE(scalar.ok()) << scalar.status();
  EXPECT_EQ(scalar->shape().rank(), 0);
}

TEST_F(NpyTest, EveryTruncationIsRefused) {
  const std::string whole = FileOf(kFloats2x2, std::string(16, '\1'));
  for (size_t size = 0; size < whole.size(); ++size) {
    EXPECT_FALSE(Read(whole.substr(0, size)).ok()) << size << " of " << whole.size();
  }
  ExpectRefused(whole + "x", "16 bytes, the file has 17");
}

TEST_F(NpyTest, OddHeadersAreRefused) {
  const std::string data(16, '\1');
  ExpectRefused("not a file of numbers", "not a .npy file");
  ExpectRefused(FileOf("{'descr': '<f4', 'fortran_order': True, 'shape': (2, 2), }", data),
                "column-major");
  ExpectRefused(FileOf("{'descr': '>f4', 'fortran_order': False, 'shape': (2, 2), }", data),
                "element type");
  ExpectRefused(FileOf("{'descr': '|O', 'fortran_order': False, 'shape': (2, 2), }", data),
                "element type");
  ExpectRefused(FileOf("{'descr': '<f4', 'fortran_order': False, 'shape': (2, x), }", data),
                "shape");
  ExpectRefused(FileOf("{'descr': '<f4', 'fortran_order': False, }", data), "shape");
  ExpectRefused(FileOf("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 2", data), "shape");
  ExpectRefused(FileOf("{'descr': '<f4', 'fortran_order': False, 'shape': (-2, -2), }", data), "");
  // More elements than memory or int64 hold: refused before anything is allocated.
  ExpectRefused(
      FileOf("{'descr': '<f4', 'fortran_order': False, 'shape': (1099511627776, 4), }", data), "");
  ExpectRefused(FileOf("{'descr': '<f8', 'fortran_order': False, 'shape': (9223372036854775807, "
                       "9223372036854775807), }",
                       data),
                "");
  ExpectRefused(FileOf("{'descr': '<f4', 'fortran_order': False, 'shape': "
                       "(99999999999999999999,), }",
                       data),
                "shape");
}

TEST_F(NpyTest, AHeaderLongerThanTheFileIsRefused) {
  std::string bytes = FileOf(kFloats2x2, std::string(16, '\1'));
  bytes[8] = '\xff';
  bytes[9] = '\xff';
  ExpectRefused(bytes, "truncated header");
}

TEST_F(NpyTest, SaysWhichFileIsMissing) {
  const absl::StatusOr<Tensor> tensor = ReadNpy((folder_.path() / "none.npy").string());
  ASSERT_FALSE(tensor.ok());
  EXPECT_NE(tensor.status().ToString().find("none.npy"), std::string::npos);
  EXPECT_FALSE(ReadNpy(folder_.path().string()).ok());
}

}  // namespace
}  // namespace berth
