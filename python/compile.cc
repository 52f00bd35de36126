// Models, as files or bytes, to bundles, as files or bytes.
#include "python/compile.h"

#include <pybind11/functional.h>
#include <pybind11/stl.h>

#include <exception>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <variant>

#include "python/handles.h"

namespace berth_python {
namespace {

namespace py = pybind11;

using Tell = std::function<void(const berth_compile_progress&)>;

const char* StageName(berth_compile_stage stage) {
  constexpr const char* kNames[] = {"import",    "graph", "order", "residency",
                                    "placement", "proof", "write"};
  return stage >= 0 && stage < static_cast<int>(std::size(kNames)) ? kNames[stage] : "";
}

// Calls Python from any thread; the first exception ends the compilation, and is raised again.
struct Progress {
  static int32_t Call(void* user, const berth_compile_progress* progress) noexcept {
    auto* const self = static_cast<Progress*>(user);
    const py::gil_scoped_acquire lock;
    if (self->raised) return 1;
    try {
      self->tell(*progress);
      return 0;
    } catch (...) {
      self->raised = std::current_exception();
      return 1;
    }
  }
  Tell tell;
  std::exception_ptr raised;
};

// What the C API's options point to.
struct Choices {
  std::string target = "mobile";
  std::map<std::string, std::vector<int64_t>> shapes;
  std::map<std::string, std::pair<int64_t, int64_t>> ranges;
  std::map<std::string, std::string> states;
  std::vector<berth_named_shape> named_shapes;
  std::vector<berth_named_range> named_ranges;
  std::vector<berth_named_state> named_states;
  std::optional<std::string> data_folder;
  Progress progress;
};

berth_dtype StorageOf(const std::string& dtype) {
  for (const auto& [name, code] : {std::pair{"float32", BERTH_FLOAT32},
                                   {"float16", BERTH_FLOAT16},
                                   {"bfloat16", BERTH_BFLOAT16}}) {
    if (dtype == name) return code;
  }
  throw Error("dtype '" + dtype + "' is not float32, float16 or bfloat16");
}

// Into memory of `choices`, which stays where it is.
berth_compile_options ToOptions(Choices& choices, const std::string& dtype,
                                int64_t pool_budget_bytes, bool fast) {
  for (const auto& [name, extents] : choices.shapes) {
    choices.named_shapes.push_back(
        {name.c_str(), extents.data(), static_cast<int32_t>(extents.size()), 0});
  }
  for (const auto& [name, range] : choices.ranges) {
    choices.named_ranges.push_back({name.c_str(), range.first, range.second});
  }
  for (const auto& [input, output] : choices.states) {
    choices.named_states.push_back({input.c_str(), output.c_str()});
  }
  berth_compile_options options = berth_compile_options_init();
  options.target = choices.target.c_str();
  options.shapes = choices.named_shapes.data();
  options.shape_count = choices.named_shapes.size();
  options.ranges = choices.named_ranges.data();
  options.range_count = choices.named_ranges.size();
  options.states = choices.named_states.data();
  options.state_count = choices.named_states.size();
  options.float_storage = StorageOf(dtype);
  options.pool_budget_bytes = pool_budget_bytes;
  options.fast = fast ? 1 : 0;
  if (choices.data_folder) options.data_folder = choices.data_folder->c_str();
  if (choices.progress.tell) {
    options.progress = Progress::Call;
    options.progress_user = &choices.progress;
  }
  return options;
}

// A call of the planner, while other threads of Python run.
template <typename Call>
void Plan(const Choices& choices, Call&& call) {
  std::string message;
  berth_status status;
  {
    const py::gil_scoped_release others_run;
    status = call();
    message = berth_planner_last_error_message();
  }
  if (choices.progress.raised) std::rethrow_exception(choices.progress.raised);
  Check(status, message.c_str());
}

std::string ReadFile(const std::string& path) {
  std::ifstream stream(path, std::ios::binary);
  std::string bytes{std::istreambuf_iterator<char>(stream), {}};
  if (!stream) throw Error("not found: no such file: '" + path + "'");
  return bytes;
}

py::bytes CompileToBytes(std::string_view model, const Choices& choices,
                         const berth_compile_options& options) {
  void* bundle = nullptr;
  size_t bundle_bytes = 0;
  Plan(choices, [&] {
    return berth_planner_compile_memory(model.data(), model.size(), &options, &bundle,
                                        &bundle_bytes);
  });
  const std::unique_ptr<void, Releaser<berth_planner_free>> owner(bundle);
  return {static_cast<const char*>(bundle), bundle_bytes};
}

std::optional<py::bytes> Compile(const std::variant<py::bytes, std::string>& model,
                                 const std::optional<std::string>& bundle, Choices& choices,
                                 const std::string& dtype, int64_t pool_budget_bytes, bool fast) {
  const auto* const path = std::get_if<std::string>(&model);
  if (path == nullptr && bundle) throw Error("the bundle of a model in memory is returned");
  if (path != nullptr && !choices.data_folder) {
    const std::filesystem::path folder = std::filesystem::path(*path).parent_path();
    choices.data_folder = folder.empty() ? "." : folder.string();
  }
  const berth_compile_options options = ToOptions(choices, dtype, pool_budget_bytes, fast);
  if (path == nullptr) return CompileToBytes(std::get<py::bytes>(model), choices, options);
  if (!bundle) return CompileToBytes(ReadFile(*path), choices, options);
  Plan(choices, [&] { return berth_planner_compile(path->c_str(), bundle->c_str(), &options); });
  return std::nullopt;
}

}  // namespace

void DefineCompile(py::module_& module) {
  using Number = int64_t berth_compile_progress::*;
  py::class_<berth_compile_progress> progress(module, "CompileProgress",
                                              "How far a compilation is.");
  progress.def_property_readonly(
      "stage", [](const berth_compile_progress& p) { return StageName(p.stage); });
  for (const auto& [name, number] :
       {std::pair<const char*, Number>{"work_units", &berth_compile_progress::work_units},
        {"work_limit_units", &berth_compile_progress::work_limit_units},
        {"timed_plans", &berth_compile_progress::timed_plans},
        {"best_cycles", &berth_compile_progress::best_cycles},
        {"lower_bound_cycles", &berth_compile_progress::lower_bound_cycles}}) {
    progress.def_readonly(name, number);
  }
  module.def(
      "compile",
      [](const std::variant<py::bytes, std::string>& model,
         const std::optional<std::string>& bundle, std::string target,
         std::map<std::string, std::vector<int64_t>> shapes,
         std::map<std::string, std::pair<int64_t, int64_t>> ranges,
         std::map<std::string, std::string> states, const std::string& dtype,
         int64_t pool_budget_bytes, bool fast, std::optional<std::string> data_folder, Tell tell) {
        Choices choices{std::move(target),
                        std::move(shapes),
                        std::move(ranges),
                        std::move(states),
                        {},
                        {},
                        {},
                        std::move(data_folder),
                        {std::move(tell), nullptr}};
        return Compile(model, bundle, choices, dtype, pool_budget_bytes, fast);
      },
      py::arg("model"), py::arg("bundle") = py::none(), py::kw_only(), py::arg("target") = "mobile",
      py::arg("shapes") = std::map<std::string, std::vector<int64_t>>(),
      py::arg("ranges") = std::map<std::string, std::pair<int64_t, int64_t>>(),
      py::arg("states") = std::map<std::string, std::string>(), py::arg("dtype") = "float32",
      py::arg("pool_budget_bytes") = 0, py::arg("fast") = false,
      py::arg("data_folder") = py::none(), py::arg("progress") = py::none(),
      "Plans an ONNX or TFLite model, a path or bytes, into a bundle: the file of that path, or "
      "returned as bytes. shapes: input name to shape; ranges: free dimension to (low, high); "
      "states: input name to output name; dtype: storage of floats; fast: no search; data_folder: "
      "of the external data of a model in memory; progress: told how far it is, and may end it by "
      "an exception, which is raised.");
}

}  // namespace berth_python
