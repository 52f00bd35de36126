#include "tools/quantize_report.h"

#include <algorithm>
#include <cmath>

namespace berth {
namespace {

using Json = nlohmann::ordered_json;

// A share of one, or 1 of nothing.
double Share(int64_t part, int64_t all) {
  return all == 0 ? 1.0 : static_cast<double>(part) / static_cast<double>(all);
}

// Infinite where there is no error, which JSON cannot say: null.
Json Decibels(double value) { return std::isfinite(value) ? Json(value) : Json(); }

std::string DecibelText(double value) {
  return std::isfinite(value) ? fmt::format("{:.1f}", value) : "exact";
}

void AddErrors(const ErrorSums& errors, Json& json) {
  json["sqnr_db"] = Decibels(errors.SqnrDb());
  json["max_abs_error"] = errors.largest;
  json["mean_abs_error"] = errors.MeanError();
  json["max_abs_value"] = errors.largest_signal;
}

std::string LayerLine(const LayerAccuracy& layer) {
  const std::string maker =
      layer.op.empty() ? "input" : fmt::format("{} '{}'", layer.op, layer.node);
  return fmt::format(
      "  {:<44.44} {:>11.4g} {:>11.4g} {:>11.4g} {:>5} {:>7} {:>10.3g} {:>10.3g} {:>7.3f}\n", maker,
      layer.least, layer.most, layer.by.scale, layer.by.zero_point,
      DecibelText(layer.errors.SqnrDb()), layer.errors.MeanError(), layer.errors.largest,
      100 * layer.clipped_share);
}

std::string OutputLine(const OutputAccuracy& output) {
  std::string line = fmt::format(
      "  output '{}': SQNR {} dB, mean error {:.3g}, max error {:.3g} of max |value| {:.3g}",
      output.name, DecibelText(output.errors.SqnrDb()), output.errors.MeanError(),
      output.errors.largest, output.errors.largest_signal);
  if (output.rows > 0) {
    line += fmt::format(", same top-1 in {} of {}", output.same_top, output.rows);
  }
  return line + "\n";
}

}  // namespace

std::string QuantizeText(const QuantizedModel& model) {
  const AccuracyReport& accuracy = model.accuracy;
  std::string text =
      fmt::format("{} ops compute on integers; constants {} -> {} bytes\n", model.integer_ops,
                  model.float_weight_bytes, model.quantized_weight_bytes);
  if (!model.float_ops.empty()) {
    text += "In float:";
    for (const FloatOps& ops : model.float_ops) text += fmt::format(" {} x {}", ops.count, ops.op);
    text += "\n";
  }
  text += fmt::format("Against the float model over {} samples:\n", accuracy.samples);
  text +=
      fmt::format("  {:<44} {:>11} {:>11} {:>11} {:>5} {:>7} {:>10} {:>10} {:>7}\n", "value of",
                  "least", "most", "scale", "zero", "SQNR dB", "mean error", "max error", "% cut");
  for (const LayerAccuracy& layer : accuracy.layers) text += LayerLine(layer);
  for (const OutputAccuracy& output : accuracy.outputs) text += OutputLine(output);
  return text;
}

void AddQuantizeJson(const QuantizedModel& model, Json& json) {
  json["integer_ops"] = model.integer_ops;
  json["float_ops"] = Json::object();
  for (const FloatOps& ops : model.float_ops) json["float_ops"][ops.op] = ops.count;
  json["float_constant_bytes"] = model.float_weight_bytes;
  json["quantized_constant_bytes"] = model.quantized_weight_bytes;
  json["samples"] = model.accuracy.samples;
  Json layers = Json::array(), weights = Json::array(), outputs = Json::array();
  for (const LayerAccuracy& layer : model.accuracy.layers) {
    Json one{{"value", layer.value},
             {"op", layer.op},
             {"node", layer.node},
             {"dtype", std::string(DTypeName(layer.dtype))},
             {"least", layer.least},
             {"most", layer.most},
             {"scale", layer.by.scale},
             {"zero_point", layer.by.zero_point},
             {"clipped_share", layer.clipped_share}};
    AddErrors(layer.errors, one);
    layers.push_back(std::move(one));
  }
  for (const ProductWeights& product : model.quantized.weights) {
    weights.push_back({{"node", product.node},
                       {"scales", product.scale_count},
                       {"sqnr_db", Decibels(product.sqnr_db)}});
  }
  for (const OutputAccuracy& output : model.accuracy.outputs) {
    Json one{{"name", output.name}};
    AddErrors(output.errors, one);
    one["max_rel_error"] = output.errors.largest_signal > 0
                               ? output.errors.largest / output.errors.largest_signal
                               : output.errors.largest;
    if (output.rows > 0) one["top1_agreement"] = Share(output.same_top, output.rows);
    outputs.push_back(std::move(one));
  }
  json["layers"] = std::move(layers);
  json["weights"] = std::move(weights);
  json["outputs"] = std::move(outputs);
}

}  // namespace berth
