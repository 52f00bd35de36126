#include "npu_sim/units/scalar_functions.h"

#include <algorithm>

namespace berth {
namespace {

double Piecewise(UnaryFunction function, double alpha, double beta, double x) {
  switch (function) {
    case UnaryFunction::kRelu:
      return x < 0 ? 0 : x;
    case UnaryFunction::kLeakyRelu:
      return x < 0 ? alpha * x : x;
    case UnaryFunction::kClip: {
      const double raised = x < alpha ? alpha : x;
      return raised > beta ? beta : raised;
    }
    case UnaryFunction::kHardSigmoid:
      return std::clamp(alpha * x + beta, 0.0, 1.0);
    case UnaryFunction::kHardSwish:
      return x * std::clamp(x / 6 + 0.5, 0.0, 1.0);
    case UnaryFunction::kElu:
      return x < 0 ? alpha * std::expm1(x) : x;
    case UnaryFunction::kSign:
      return x > 0 ? 1 : x < 0 ? -1 : x;
    default:
      return alpha * x + beta;  // kAffine
  }
}

double Algebraic(UnaryFunction function, double x) {
  switch (function) {
    case UnaryFunction::kSqrt:
      return std::sqrt(x);
    case UnaryFunction::kNeg:
      return -x;
    case UnaryFunction::kAbs:
      return std::abs(x);
    case UnaryFunction::kReciprocal:
      return 1 / x;
    case UnaryFunction::kRsqrt:
      return 1 / std::sqrt(x);
    case UnaryFunction::kSquare:
      return x * x;
    case UnaryFunction::kFloor:
      return std::floor(x);
    case UnaryFunction::kCeil:
      return std::ceil(x);
    case UnaryFunction::kRound:
      return std::nearbyint(x);
    default:
      return x;  // kIdentity
  }
}

double Trigonometric(UnaryFunction function, double x) {
  switch (function) {
    case UnaryFunction::kSin:
      return std::sin(x);
    case UnaryFunction::kCos:
      return std::cos(x);
    case UnaryFunction::kTan:
      return std::tan(x);
    case UnaryFunction::kAsin:
      return std::asin(x);
    case UnaryFunction::kAcos:
      return std::acos(x);
    case UnaryFunction::kAtan:
      return std::atan(x);
    case UnaryFunction::kSinh:
      return std::sinh(x);
    case UnaryFunction::kCosh:
      return std::cosh(x);
    case UnaryFunction::kAsinh:
      return std::asinh(x);
    case UnaryFunction::kAcosh:
      return std::acosh(x);
    default:  // kAtanh
      return std::atanh(x);
  }
}

}  // namespace

bool IsTrigonometric(UnaryFunction function) {
  return function == UnaryFunction::kSin || function == UnaryFunction::kCos ||
         (function >= UnaryFunction::kTan && function <= UnaryFunction::kAtanh);
}

double UnaryOfReal(UnaryFunction function, double alpha, double beta, double x) {
  if (IsTrigonometric(function)) return Trigonometric(function, x);
  switch (function) {
    case UnaryFunction::kSigmoid:
      return 1 / (1 + std::exp(-x));
    case UnaryFunction::kSilu:
      return x / (1 + std::exp(-x));
    case UnaryFunction::kTanh:
      return std::tanh(x);
    case UnaryFunction::kExp:
      return std::exp(x);
    case UnaryFunction::kLog:
      return std::log(x);
    case UnaryFunction::kErf:
      return std::erf(x);
    case UnaryFunction::kGelu:
      return 0.5 * x * (1 + std::erf(x * 0.70710678118654752440));
    case UnaryFunction::kGeluTanh:
      return 0.5 * x * (1 + std::tanh(0.79788456080286535588 * (x + 0.044715 * x * x * x)));
    case UnaryFunction::kSoftplus:
      return std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x)));
    case UnaryFunction::kRelu:
    case UnaryFunction::kLeakyRelu:
    case UnaryFunction::kClip:
    case UnaryFunction::kHardSigmoid:
    case UnaryFunction::kHardSwish:
    case UnaryFunction::kElu:
    case UnaryFunction::kSign:
    case UnaryFunction::kAffine:
      return Piecewise(function, alpha, beta, x);
    default:
      return Algebraic(function, x);
  }
}

}  // namespace berth
