// The Python module `berth`: thin over the C API. berth.pyi is what it says of itself.
#include <pybind11/functional.h>
#include <pybind11/stl.h>

#include <optional>
#include <string_view>
#include <variant>

#include "python/arrays.h"
#include "python/compile.h"

namespace berth_python {
namespace {

namespace py = pybind11;

struct TensorInfo {
  std::string name, dtype, description;
  std::optional<std::vector<std::optional<int64_t>>> shape;
  int64_t size_bytes = -1;
};

using InfoFunction = berth_status (*)(const berth_program*, size_t, berth_tensor_info*);

berth_tensor_info Ask(const berth_program* program, InfoFunction ask, size_t position) {
  berth_tensor_info info = berth_tensor_info_init();
  Check(ask(program, position, &info));
  return info;
}

std::vector<TensorInfo> Describe(const berth_program* program, size_t count, InfoFunction ask) {
  std::vector<TensorInfo> result;
  for (size_t i = 0; i < count; ++i) {
    const berth_tensor_info info = Ask(program, ask, i);
    TensorInfo described{info.name, berth_dtype_name(info.dtype), info.description};
    if (info.rank >= 0) {
      described.shape.emplace();
      for (int32_t k = 0; k < info.rank; ++k) {
        described.shape->push_back(info.extents[k] < 0 ? std::nullopt
                                                       : std::optional(info.extents[k]));
      }
    }
    described.size_bytes = info.size_bytes;
    result.push_back(std::move(described));
  }
  return result;
}

struct Report {
  explicit Report(berth_report* report) : handle(report) {
    Check(berth_report_get(handle.get(), &numbers));
  }
  py::object Json() const {
    const char* json = nullptr;
    Check(berth_report_json(handle.get(), &json, nullptr));
    return py::module_::import("json").attr("loads")(json);
  }
  ReportHandle handle;
  berth_report_numbers numbers = berth_report_numbers_init();
};

struct ArenaPool {
  ArenaPool(int64_t limit_bytes, bool fail_at_limit) {
    berth_arena_pool_options options = berth_arena_pool_options_init();
    options.limit_bytes = limit_bytes;
    options.fail_at_limit = fail_at_limit ? 1 : 0;
    berth_arena_pool* pool = nullptr;
    Check(berth_arena_pool_create(&options, &pool));
    handle = PoolHandle(pool, berth_arena_pool_release);
  }
  py::dict Statistics() const {
    berth_arena_pool_statistics found = berth_arena_pool_statistics_init();
    Check(berth_arena_pool_get_statistics(handle.get(), &found));
    py::dict result;
    result["leased_bytes"] = found.leased_bytes;
    result["idle_bytes"] = found.idle_bytes;
    result["peak_bytes"] = found.peak_bytes;
    result["leases"] = found.leases;
    result["reuses"] = found.reuses;
    result["waits"] = found.waits;
    return result;
  }
  PoolHandle handle;
};

struct Outputs {
  std::vector<py::array> arrays;
  std::shared_ptr<Report> report;
};

class Context {
 public:
  Context(ProgramHandle program, PoolHandle pool, int threads)
      : program_(std::move(program)), pool_(std::move(pool)) {
    berth_context_options options = berth_context_options_init();
    options.threads = threads;
    berth_context* context = nullptr;
    berth_status status;
    {
      const py::gil_scoped_release others_run;  // it may wait for memory
      status = berth_context_create(program_.get(), pool_.get(), &options, &context);
    }
    Check(status);
    handle_.reset(context);
  }

  std::vector<py::array> Run(const py::args& inputs, std::optional<double> timeout) {
    return RunMode(inputs, BERTH_RUN_VALUES, timeout).arrays;
  }
  py::tuple RunWithReport(const py::args& inputs, std::optional<double> timeout) {
    Outputs outputs = RunMode(inputs, BERTH_RUN_BOTH, timeout);
    return py::make_tuple(outputs.arrays, outputs.report);
  }
  void Cancel() { Check(berth_context_cancel(handle_.get())); }
  void ResetStates() { Check(berth_context_reset_states(handle_.get())); }
  py::array State(size_t position) {
    berth_tensor value{};
    Check(berth_context_get_state(handle_.get(), position, &value));
    return Copied(value);
  }
  void SetState(size_t position, const py::object& value) {
    const berth_tensor_info info = Ask(program_.get(), berth_program_state, position);
    const py::array array = ToArray(value, info.dtype, info.name);
    std::vector<int64_t> extents;
    const berth_tensor tensor = ToTensor(array, info.dtype, extents);
    Check(berth_context_set_state(handle_.get(), position, &tensor));
  }

 private:
  Outputs RunMode(const py::args& inputs, berth_run_mode mode, std::optional<double> timeout) {
    berth_run_options options = berth_run_options_init();
    options.mode = mode;
    if (timeout) options.timeout_ns = std::max<int64_t>(1, static_cast<int64_t>(*timeout * 1e9));
    const size_t count = berth_program_input_count(program_.get());
    if (inputs.size() != count) {
      throw Error(std::to_string(inputs.size()) + " inputs given, " + std::to_string(count) +
                  " expected");
    }
    std::vector<py::array> arrays;
    std::vector<std::vector<int64_t>> extents(count);
    std::vector<berth_tensor> tensors;
    for (size_t i = 0; i < count; ++i) {
      const berth_tensor_info info = Ask(program_.get(), berth_program_input, i);
      arrays.push_back(ToArray(inputs[i], info.dtype, info.name));
      tensors.push_back(ToTensor(arrays.back(), info.dtype, extents[i]));
    }
    berth_tensor_list* made = nullptr;
    berth_report* report = nullptr;
    berth_status status;
    {
      const py::gil_scoped_release others_run;
      status =
          berth_context_run_alloc(handle_.get(), tensors.data(), count, &options, &made, &report);
    }
    Check(status);
    Outputs outputs{ToArrays(TensorListHandle(made)), nullptr};
    if (report != nullptr) outputs.report = std::make_shared<Report>(report);
    return outputs;
  }

  ProgramHandle program_;
  PoolHandle pool_;
  ContextHandle handle_;
};

struct Program {
  // `bundle` is the path of a file, or the bytes of one, which are copied.
  Program(const std::variant<py::bytes, std::string>& bundle, bool trusted, int plan_after_runs) {
    berth_load_options options = berth_load_options_init();
    options.level = trusted ? BERTH_LOAD_TRUSTED : BERTH_LOAD_FULL;
    options.plan_after_runs = plan_after_runs;
    Check(berth_planner_lowering(&options.lowering), berth_planner_last_error_message());
    const auto* const path = std::get_if<std::string>(&bundle);
    const std::string_view bytes =
        path == nullptr ? std::string_view(std::get<py::bytes>(bundle)) : std::string_view();
    berth_program* program = nullptr;
    berth_status status;
    {
      const py::gil_scoped_release others_run;
      status = path != nullptr
                   ? berth_program_load(path->c_str(), &options, &program)
                   : berth_program_load_memory(bytes.data(), bytes.size(), &options, &program);
    }
    Check(status);
    handle = ProgramHandle(program, berth_program_release);
  }
  py::dict Memory() const {
    berth_memory memory = berth_memory_init();
    Check(berth_program_memory(handle.get(), &memory));
    py::dict result;
    result["constants_bytes"] = memory.constants_bytes;
    result["arena_bytes"] = memory.arena_bytes;
    result["pool_bytes"] = memory.pool_bytes;
    result["scratchpad_bytes"] = memory.scratchpad_bytes;
    result["accumulator_bytes"] = memory.accumulator_bytes;
    result["state_bytes"] = memory.state_bytes;
    return result;
  }
  std::shared_ptr<Report> Simulate() const {
    berth_report* report = nullptr;
    Check(berth_program_simulate(handle.get(), &report));
    return std::make_shared<Report>(report);
  }
  std::unique_ptr<Context> MakeContext(const ArenaPool* pool, int threads) const {
    return std::make_unique<Context>(
        handle, pool != nullptr ? pool->handle : ArenaPool(0, false).handle, threads);
  }
  ProgramHandle handle;
};

void DefineRunning(py::module_& module) {
  py::class_<ArenaPool>(module, "ArenaPool", "The memory of running requests, shared by contexts.")
      .def(py::init<int64_t, bool>(), py::arg("limit_bytes") = 0, py::arg("fail_at_limit") = false,
           "limit_bytes 0 is no limit; at the limit contexts wait in turn, or fail.")
      .def_property_readonly("statistics", &ArenaPool::Statistics, "Bytes and counts, as a dict.");
  py::class_<Context>(module, "Context", "One request at a time, and the states it keeps.")
      .def("run", &Context::Run, py::arg("timeout") = py::none(),
           "run(*inputs, timeout=None): the outputs as numpy arrays. Inputs are numpy arrays or "
           "have __dlpack__; dense ones are read in place. Other threads run meanwhile.")
      .def("run_with_report", &Context::RunWithReport, py::arg("timeout") = py::none(),
           "The same with the simulated cycles: (outputs, Report).")
      .def("cancel", &Context::Cancel, "Stops the run in progress, from any thread, or the next.")
      .def("reset_states", &Context::ResetStates, "States are as in a new context.")
      .def("state", &Context::State, py::arg("position"), "A copy of a state.")
      .def("set_state", &Context::SetState, py::arg("position"), py::arg("value"));
}

void DefineProgram(py::module_& module) {
  py::class_<TensorInfo>(module, "TensorInfo", "What a program says of a tensor.")
      .def_readonly("name", &TensorInfo::name)
      .def_readonly("dtype", &TensorInfo::dtype)
      .def_readonly("shape", &TensorInfo::shape, "None where known only when it runs.")
      .def_readonly("size_bytes", &TensorInfo::size_bytes, "-1 where known only when it runs.")
      .def("__repr__", [](const TensorInfo& info) { return info.name + ": " + info.description; });
  py::class_<Report, std::shared_ptr<Report>>(module, "Report", "What a simulation reports.")
      .def_property_readonly("makespan_cycles",
                             [](const Report& r) { return r.numbers.makespan_cycles; })
      .def_property_readonly("macs", [](const Report& r) { return r.numbers.macs; })
      .def_property_readonly("dram_read_bytes",
                             [](const Report& r) { return r.numbers.dram_read_bytes; })
      .def_property_readonly("dram_write_bytes",
                             [](const Report& r) { return r.numbers.dram_write_bytes; })
      .def_property_readonly("matrix_utilization",
                             [](const Report& r) { return r.numbers.matrix_utilization; })
      .def("json", &Report::Json, "All of it: engines, stalls by cause, bytes, energy.");
  py::class_<Program>(module, "Program", "A loaded bundle; shared by all contexts and threads.")
      .def_property_readonly("inputs",
                             [](const Program& p) {
                               return Describe(p.handle.get(),
                                               berth_program_input_count(p.handle.get()),
                                               berth_program_input);
                             })
      .def_property_readonly("outputs",
                             [](const Program& p) {
                               return Describe(p.handle.get(),
                                               berth_program_output_count(p.handle.get()),
                                               berth_program_output);
                             })
      .def_property_readonly("states",
                             [](const Program& p) {
                               return Describe(p.handle.get(),
                                               berth_program_state_count(p.handle.get()),
                                               berth_program_state);
                             })
      .def_property_readonly(
          "is_dynamic",
          [](const Program& p) { return berth_program_is_dynamic(p.handle.get()) == 1; })
      .def_property_readonly("memory", &Program::Memory, "Bytes that a context needs, as a dict.")
      .def("simulate", &Program::Simulate, "Cycles of a static program, without values.")
      .def("context", &Program::MakeContext, py::arg("pool") = nullptr, py::arg("threads") = 1,
           "A Context with an arena of `pool`, or of a pool of its own.");
}

}  // namespace

PYBIND11_MODULE(berth, module) {
  module.doc() = "Berth: plans models for a scratchpad NPU and runs them on a simulated one.";
  module.attr("__version__") = berth_version();
  py::register_exception<Error>(module, "Error", PyExc_RuntimeError);
  DefineRunning(module);
  DefineProgram(module);
  module.def(
      "load",
      [](const std::variant<py::bytes, std::string>& bundle, bool trusted, int plan_after_runs) {
        return Program(bundle, trusted, plan_after_runs);
      },
      py::arg("bundle"), py::arg("trusted") = false, py::arg("plan_after_runs") = 0,
      "Loads and proves a bundle, the path of a file or its bytes; `trusted` skips the proof of "
      "one that was verified before.");
  DefineCompile(module);
}

}  // namespace berth_python
