// The one table of the fields of CommandParams in the text of a program: writing and reading are
// visitors of it, so that what is written is what is read.
//
// A visitor has
//   Number(name, integer&)      Hex(name, uint&)      Float(name, float&)
//   Pair(name, integer&, integer&)                    "3x3"
//   Name(name, uint8_t& or enum&, NameOf)
//   List(name, int64_t (&)[N])                        trailing zeros may be left out
// and gets references into `params`, whose member for the opcode's engine is the one in use.
#pragma once

#include "npu_sim/text/names.h"

namespace berth::program_text {

// What a field has that the text does not give.
inline CommandParams DefaultParams(Opcode opcode) {
  CommandParams params;
  switch (EngineOf(opcode)) {
    case EngineKind::kMatrix:
      params.matrix = MatrixParams{};
      break;
    case EngineKind::kVector:
      params.vector = VectorParams{};
      break;
    case EngineKind::kDma:
      params.dma = DmaParams{};
      break;
    case EngineKind::kHost:
      params.host = HostParams{};
      break;
  }
  return params;
}

template <typename Visitor>
void VisitWindow(Window& window, Visitor& visitor) {
  visitor.Pair("kernel", window.kernel_height, window.kernel_width);
  visitor.Pair("stride", window.stride_height, window.stride_width);
  visitor.Pair("dilation", window.dilation_height, window.dilation_width);
  visitor.Pair("pad", window.pad_top, window.pad_left);
  visitor.Pair("upsample", window.upsample_height, window.upsample_width);
  visitor.Pair("input", window.input_height, window.input_width);
}

template <typename Visitor>
void VisitMatrixParams(MatrixParams& params, Visitor& visitor) {
  VisitWindow(params.window, visitor);
  visitor.Name("activation", params.activation, ActivationNameOf);
  visitor.Float("activation_alpha", params.activation_alpha);
  visitor.Float("activation_beta", params.activation_beta);
  visitor.Number("in0_zero_point", params.in0_zero_point);
  visitor.Number("in1_zero_point", params.in1_zero_point);
  visitor.Number("out_zero_point", params.out_zero_point);
  visitor.Float("out_scale", params.out_scale);
}

template <typename Visitor>
void VisitVectorParams(Opcode opcode, VectorParams& params, Visitor& visitor) {
  if (const NameOf name_of = FunctionNameOf(opcode)) {
    visitor.Name("function", params.function, name_of);
  } else {
    visitor.Number("function", params.function);
  }
  visitor.Float("alpha", params.alpha);
  visitor.Float("beta", params.beta);
  visitor.Number("zero_point", params.zero_point);
  VisitWindow(params.window, visitor);
}

template <typename Visitor>
void VisitParams(Opcode opcode, CommandParams& params, Visitor& visitor) {
  switch (EngineOf(opcode)) {
    case EngineKind::kMatrix:
      return VisitMatrixParams(params.matrix, visitor);
    case EngineKind::kVector:
      return VisitVectorParams(opcode, params.vector, visitor);
    case EngineKind::kDma:
      visitor.Hex("pattern", params.dma.pattern);
      visitor.Number("row_limit", params.dma.row_limit);
      return;
    case EngineKind::kHost:
      visitor.Number("function", params.host.function);
      visitor.Hex("output_mask", params.host.output_mask);
      visitor.List("values", params.host.values);
      return;
  }
}

}  // namespace berth::program_text
