// What a function is beside its sum of kernels: how it goes on outside the dictionary, and what it is added to.
#pragma once

#include <cmath>

#include "settings.h"

// How the function goes on outside the dictionary: with the kernels' own values, with that of the edge, or with the
// edge's value and slope.
enum class Tails { kZero, kConstant, kLinear };

// The numbers that Python gives them: see ops/kaf.py.
enum class Base {
  kNone,
  kIdentity,
  kReLU,
  kLeakyReLU,
  kSigmoid,
  kTanh,
  kSiLU,
  kELU,
  kSELU,
  kMish,
  kSoftplus,
  kGELU
};

// What stands beside the sum: b(s), w b(s), or s + w (b(s) - s), with a coefficient w.
enum class BaseForm { kFixed, kWeighted, kResidual };

constexpr double kSELUScale = 1.0507009873554804934193349852946, kSELUAlpha = 1.6732632423543772848170429916717;

// From the last two settings: the tails; the base, plus 100 times its form.
struct Outside {
  explicit Outside(const Settings& s)
      : tails(static_cast<Tails>(static_cast<int>(s.fourth))),
        base(static_cast<Base>(static_cast<int>(s.fifth) % 100)),
        form(static_cast<BaseForm>(static_cast<int>(s.fifth) / 100)) {}

  bool weighted() const { return form != BaseForm::kFixed; }

  const Tails tails;
  const Base base;
  const BaseForm form;
};

// Whether the slope jumps, or the formula changes, at 0.
inline bool has_kink(Base base) {
  return base == Base::kReLU || base == Base::kLeakyReLU || base == Base::kELU || base == Base::kSELU;
}

// A base at one number, in double. One with a kink goes on beyond it as on the side that is asked for.
inline double base_value(Base base, double s, bool right) {
  switch (base) {
    case Base::kNone:
      return 0;
    case Base::kIdentity:
      return s;
    case Base::kReLU:
      return right ? s : 0;
    case Base::kLeakyReLU:
      return right ? s : 0.01 * s;
    case Base::kELU:
      return right ? s : std::expm1(s);
    case Base::kSELU:
      return kSELUScale * (right ? s : kSELUAlpha * std::expm1(s));
    case Base::kSigmoid:
      return 1 / (1 + std::exp(-s));
    case Base::kTanh:
      return std::tanh(s);
    case Base::kSiLU:
      return s / (1 + std::exp(-s));
    case Base::kMish:
      return s * std::tanh(std::log1p(std::exp(s)));
    case Base::kSoftplus:
      return std::max(s, 0.0) + std::log1p(std::exp(-std::abs(s)));
    case Base::kGELU:
      return 0.5 * s * std::erfc(-s * std::sqrt(0.5));
  }
  return 0;
}
