// Writes the inputs that fuzzers begin with into DIR/<fuzzer>/: small, one for each feature.
#include <cstdio>
#include <filesystem>
#include <fstream>

#include "npu_sim/config.h"
#include "runtime/bundle/bundle.h"
#include "tests/npu_sim/example_program.h"
#include "tests/planner/small_network.h"
#include "tests/planner/tflite_testing.h"
#include "tests/runtime/dynamic_testing.h"

namespace berth {
namespace {

namespace fs = std::filesystem;

void Write(const fs::path& path, const std::string& bytes) {
  fs::create_directories(path.parent_path());
  std::ofstream(path, std::ios::binary) << bytes;
}

// A chain of ops from x: float32[1,4,8,8] to y, the constants that they need beside it.
ModelBuilder ImageNetwork() {
  ModelBuilder b;
  b.Input("x", {1, 4, 8, 8});
  b.Output("y", {1, 10});
  b.Floats("w", {4, 4, 3, 3}, std::vector<float>(144, 0.1f));
  b.Floats("scale", {4}, {1, 2, 3, 4});
  b.Floats("fc", {64, 10}, std::vector<float>(640, 0.1f));
  SetInts(b.Node("Conv", {"x", "w"}, {"c"}), "pads", {1, 1, 1, 1});
  b.Node("BatchNormalization", {"c", "scale", "scale", "scale", "scale"}, {"n"});
  b.Node("Relu", {"n"}, {"r"});
  auto& pool = b.Node("MaxPool", {"r"}, {"p"});
  SetInts(pool, "kernel_shape", {2, 2});
  SetInts(pool, "strides", {2, 2});
  b.Node("Flatten", {"p"}, {"f"});
  b.Node("Gemm", {"f", "fc"}, {"g"});
  SetInt(b.Node("Softmax", {"g"}, {"y"}), "axis", -1);
  return b;
}

ModelBuilder RecurrentNetwork() {
  ModelBuilder b;
  b.Input("x", {3, -1, 4});
  b.Output("y", {});
  b.Floats("w", {1, 8, 4}, std::vector<float>(32, 0.1f));
  b.Floats("r", {1, 8, 2}, std::vector<float>(16, 0.1f));
  SetInt(b.Node("LSTM", {"x", "w", "r"}, {"all", "y"}), "hidden_size", 2);
  return b;
}

ModelBuilder QuantizedNetwork() {
  ModelBuilder b;
  b.Input("x", {2, 6});
  b.Output("y", {2, 6});
  b.Floats("s", {}, {0.1f});
  b.Initializer("z", onnx::TensorProto::UINT8, {}).add_int32_data(128);
  b.Node("QuantizeLinear", {"x", "s", "z"}, {"q"});
  b.Node("DequantizeLinear", {"q", "s", "z"}, {"d"});
  b.Node("Erf", {"d"}, {"y"});
  return b;
}

void WriteModels(const fs::path& folder) {
  const auto write = [&](const std::string& name, const ModelBuilder& model) {
    Write(folder / name, model.model.SerializeAsString());
  };
  write("image.onnx", ImageNetwork());
  write("recurrent.onnx", RecurrentNetwork());
  write("quantized.onnx", QuantizedNetwork());
  write("dynamic.onnx", DynamicNetwork(true));
}

std::string TfliteBytes(TfliteWriter& writer, const std::vector<int32_t>& inputs,
                        const std::vector<int32_t>& outputs) {
  return writer.Finish(inputs, outputs);
}

void WriteTflite(const fs::path& folder) {
  {
    TfliteWriter w;
    const int x = w.Value({"x", {1, 8, 8, 4}}), y = w.Value({"y", {1, 8, 8, 2}});
    const int filter = w.Floats({2, 3, 3, 4}, std::vector<float>(72, 0.5f));
    const int bias = w.Floats({2}, {1, 2});
    w.Op(tfl::BuiltinOperator::CONV_2D, {x, filter, bias}, {y},
         tfl::CreateConv2DOptions(w.fbb(), tfl::Padding::SAME, 1, 1));
    Write(folder / "conv.tflite", TfliteBytes(w, {x}, {y}));
  }
  {
    TfliteWriter w;
    const int x = w.Value({"x", {2, 6}}), y = w.Value({"y", {3, 4}});
    const int shape = w.Ints({3, 4});
    w.Op(tfl::BuiltinOperator::RESHAPE, {x, shape}, {y}, tfl::CreateReshapeOptions(w.fbb()));
    Write(folder / "reshape.tflite", TfliteBytes(w, {x}, {y}));
  }
}

bool WriteBundles(const fs::path& folder) {
  fs::create_directories(folder);
  const ScratchFolder scratch;
  CompileOptions options = DynamicCompileOptions();
  const auto image = CompileModel(scratch.Write("i.onnx", ImageNetwork().model), options);
  options.ranges = {{"d0", 1, 2}, {"d2", 2, 8}, {"d3", 5, 5}};
  const auto dynamic = CompileModel(scratch.Write("d.onnx", DynamicNetwork(true).model), options);
  return image.ok() && dynamic.ok() && WriteBundle(folder / "image.berth", *image).ok() &&
         WriteBundle(folder / "dynamic.berth", *dynamic).ok();
}

void WriteTexts(const fs::path& folder) {
  for (const char* preset : {"edge", "server"}) {
    Write(folder / "config" / preset, ToJson(*LoadTarget(preset)));
  }
  Write(folder / "placement_csv" / "items",
        "id,lower,upper,size,alignment,offset\na,0,4,64,64,\nb,2,6,100,,128\nc,5,9,32,32,\n");
  Write(folder / "placement_csv" / "inclusive", "id,start,end,size,hint\n0,0,1,8,0\n1,1,2,8,8\n");
  Write(folder / "placement_csv" / "trace",
        "op,id,size_bytes,alignment\nalloc,0,4096,64\nalloc,1,64,\nfree,0,,\nfree,1,,\n");
}

// The small network tile by tile, cut where it stops being small; one command of every opcode.
void WriteProgramTexts(const fs::path& folder) {
  const std::string network = DumpProgram(CompileSmallNetwork().program.view());
  constexpr size_t kLongest = 8000;
  Write(folder / "network", network.substr(0, network.rfind('\n', kLongest) + 1));
  Write(folder / "example", DumpProgram(testing_support::ExampleProgram().view()));
  TileProgram program;
  program.engines = CoreEngines(1);
  for (int value = 1; value < 256; ++value) {
    const auto opcode = static_cast<Opcode>(value);
    if (OpcodeName(opcode) == "invalid") continue;
    Command command;
    command.opcode = opcode;
    command.engine = static_cast<uint8_t>(EngineOf(opcode));
    command.out = command.in0 = testing_support::ProgramBuilder::View(MemorySpace::kScratchpad, 0,
                                                                      64 * value, {0, 0, 16, 4});
    program.commands.push_back(command);
  }
  Write(folder / "opcodes", DumpProgram(program.view()));
}

// Edits of a program, and inputs of the dynamic models: records of small numbers.
void WriteRecords(const fs::path& folder) {
  for (int seed = 0; seed < 32; ++seed) {
    std::mt19937 random(static_cast<unsigned int>(seed));
    std::string bytes;
    for (int i = 0; i < 48; ++i) bytes.push_back(static_cast<char>(random() % (i % 4 ? 8 : 256)));
    Write(folder / "program" / std::to_string(seed), bytes);
    bytes[0] = static_cast<char>(seed);
    Write(folder / "dynamic" / std::to_string(seed), bytes);
  }
}

}  // namespace
}  // namespace berth

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fputs("usage: fuzz_seeds DIR\n", stderr);
    return 2;
  }
  const std::filesystem::path folder = argv[1];
  berth::WriteModels(folder / "onnx");
  berth::WriteTflite(folder / "tflite");
  berth::WriteTexts(folder);
  berth::WriteProgramTexts(folder / "program_text");
  berth::WriteRecords(folder);
  return berth::WriteBundles(folder / "bundle") ? 0 : 1;
}
