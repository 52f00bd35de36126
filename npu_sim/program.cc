#include "npu_sim/program.h"

#include <fmt/format.h>

namespace berth {

std::vector<EngineId> CoreEngines(int dma_channels, int core) {
  const auto core_id = static_cast<uint8_t>(core);
  std::vector<EngineId> engines;
  for (int channel = 0; channel < dma_channels; ++channel) {
    engines.push_back({core_id, EngineKind::kDma, static_cast<uint8_t>(channel)});
  }
  engines.push_back({core_id, EngineKind::kMatrix, 0});
  engines.push_back({core_id, EngineKind::kVector, 0});
  engines.push_back({core_id, EngineKind::kHost, 0});
  return engines;
}

std::string_view EngineKindName(EngineKind kind) {
  switch (kind) {
    case EngineKind::kDma:
      return "dma";
    case EngineKind::kMatrix:
      return "matrix";
    case EngineKind::kVector:
      return "vector";
    case EngineKind::kHost:
      return "host";
  }
  return "unknown";
}

std::string EngineName(const EngineId& engine) {
  std::string name = engine.core == 0 ? "" : fmt::format("{}.", engine.core);
  name += EngineKindName(engine.kind);
  if (engine.kind == EngineKind::kDma || engine.index != 0) {
    name += fmt::format("{}", engine.index);
  }
  return name;
}

}  // namespace berth
