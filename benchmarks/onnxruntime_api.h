// The few functions of ONNX Runtime's C library that a benchmark needs, loaded from a path at run
// time: no header of it is packaged. Its table of functions only ever grows at the end, so the
// positions below hold for every version since 1.
#pragma once

#include <dlfcn.h>
#include <fmt/format.h>

#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

namespace berth::neighbour {

class OnnxRuntime {
 public:
  explicit OnnxRuntime(const std::string& library) {
    struct Base {
      void* const* (*get_api)(uint32_t version);
      const char* (*version)();
    };
    void* const handle = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) Stop(dlerror());
    const auto get = reinterpret_cast<const Base* (*)()>(dlsym(handle, "OrtGetApiBase"));
    if (get == nullptr) Stop("no OrtGetApiBase");
    version_ = get()->version();
    table_ = get()->get_api(kApiVersion);
    if (table_ == nullptr) Stop("no such version of its interface");
    constexpr int kErrorsOnly = 3;
    Call<void*(int, const char*, void**)>(kCreateEnv, kErrorsOnly, "berth", &env_);
    constexpr int kArenaAllocator = 1, kDefaultMemory = 0;
    Call<void*(int, int, void**)>(kCreateCpuMemoryInfo, kArenaAllocator, kDefaultMemory, &memory_);
  }
  const std::string& version() const { return version_; }

  // One thread. `optimize`: all passes or none.
  void* Load(const std::string& path, bool optimize) const {
    constexpr int kNone = 0, kAll = 99;
    void *options = nullptr, *session = nullptr;
    Call<void*(void**)>(kCreateSessionOptions, &options);
    Call<void*(void*, int)>(kSetOptimizationLevel, options, optimize ? kAll : kNone);
    Call<void*(void*, int)>(kSetIntraOpThreads, options, 1);
    Call<void*(const void*, const char*, const void*, void**)>(kCreateSession, env_, path.c_str(),
                                                               options, &session);
    Release(kReleaseSessionOptions, options);
    return session;
  }
  void Unload(void* session) const { Release(kReleaseSession, session); }

  // Floats of the caller as a value.
  void* Wrap(std::vector<float>& values, const std::vector<int64_t>& shape) const {
    constexpr int kFloat = 1;
    void* value = nullptr;
    Call<void*(const void*, void*, size_t, const int64_t*, size_t, int, void**)>(
        kCreateTensorWithData, memory_, values.data(), values.size() * sizeof(float), shape.data(),
        shape.size(), kFloat, &value);
    return value;
  }
  // One input, one output, both the caller's.
  void Run(void* session, const char* input_name, void* input, const char* output_name,
           void* output) const {
    Call<void*(void*, const void*, const char* const*, const void* const*, size_t,
               const char* const*, size_t, void**)>(kRun, session, nullptr, &input_name, &input, 1,
                                                    &output_name, 1, &output);
  }

 private:
  static constexpr uint32_t kApiVersion = 16;
  // Positions in the table.
  static constexpr size_t kGetErrorMessage = 2, kCreateEnv = 3, kCreateSession = 7, kRun = 9,
                          kCreateSessionOptions = 10, kSetOptimizationLevel = 23,
                          kSetIntraOpThreads = 24, kCreateTensorWithData = 49,
                          kCreateCpuMemoryInfo = 69, kReleaseSession = 95,
                          kReleaseSessionOptions = 100;

  [[noreturn]] static void Stop(const std::string& why) {
    fmt::print(stderr, "onnxruntime: {}\n", why);
    std::exit(1);
  }
  template <typename Function, typename... Args>
  void Call(size_t position, Args... args) const {
    void* const status = reinterpret_cast<Function*>(table_[position])(args...);
    if (status != nullptr) {
      Stop(reinterpret_cast<const char* (*)(const void*)>(table_[kGetErrorMessage])(status));
    }
  }
  void Release(size_t position, void* object) const {
    reinterpret_cast<void (*)(void*)>(table_[position])(object);
  }

  std::string version_;
  void* const* table_ = nullptr;
  void* env_ = nullptr;
  void* memory_ = nullptr;
};

}  // namespace berth::neighbour
