#include "added_base.h"

#include <type_traits>

#include "bases.h"

namespace {

template <Base kBase>
using Tag = std::integral_constant<Base, kBase>;

// Calls use(tag) with the base as a constant: each has loops of its own.
template <class Use>
void with_tag(Base base, const Use& use) {
  switch (base) {
    case Base::kNone:
      return;
    case Base::kIdentity:
      return use(Tag<Base::kIdentity>{});
    case Base::kReLU:
      return use(Tag<Base::kReLU>{});
    case Base::kLeakyReLU:
      return use(Tag<Base::kLeakyReLU>{});
    case Base::kSigmoid:
      return use(Tag<Base::kSigmoid>{});
    case Base::kTanh:
      return use(Tag<Base::kTanh>{});
    case Base::kSiLU:
      return use(Tag<Base::kSiLU>{});
    case Base::kELU:
      return use(Tag<Base::kELU>{});
    case Base::kSELU:
      return use(Tag<Base::kSELU>{});
    case Base::kMish:
      return use(Tag<Base::kMish>{});
    case Base::kSoftplus:
      return use(Tag<Base::kSoftplus>{});
    case Base::kGELU:
      return use(Tag<Base::kGELU>{});
  }
}

// With kWeighted there is a w. In functions of their own, whose arguments no store can change, as far as the compiler
// knows.
template <Base kBase, bool kWeighted, class T>
__attribute__((noinline)) void values_of(Vec<T> w, bool residual, const T* s, const T* values, Strip to, T* y) {
  const Vec<T> rest = T(1) - w;
  for (int64_t i = 0; i < to.vectors; i += kParts) {
    const Vec<T> at = load<T>(s + i * kNativeWidth<T>), sum = load<T>(values + i * kNativeWidth<T>);
    const Vec<T> b = base_and_slope<kBase>(at).value;
    Vec<T> result = kWeighted ? mul_add(w, b, sum) : sum + b;
    if (kWeighted && residual) result = mul_add(rest, at, result);
    to.rows<T>(i).put(y, result);
  }
}

template <Base kBase, bool kWeighted, class T>
__attribute__((noinline)) void gradients_of(Vec<T> w, bool residual, const T* s, const T* upstream, const T* gradients,
                                            Strip to, T* dx, T* by_weight) {
  Vec<T> by_w = {};
  for (int64_t i = 0; i < to.vectors; i += kParts) {
    const Vec<T> at = load<T>(s + i * kNativeWidth<T>), u = load<T>(upstream + i * kNativeWidth<T>);
    BasePair<T> b = base_and_slope<kBase>(at);
    if (kWeighted) {
      if (residual) b = {b.value - at, b.slope - T(1)};
      by_w = mul_add(u, b.value, by_w);
      b.slope = residual ? mul_add(w, b.slope, splat<T>(1)) : w * b.slope;
    }
    if (dx) to.rows<T>(i).put(dx, mul_add(u, b.slope, load<T>(gradients + i * kNativeWidth<T>)));
  }
  if (kWeighted) add_to<T>(by_weight, by_w);
}

}  // namespace

template <class T>
void AddedBase<T>::add_values(Vec<T> w, const T* s, const T* values, const Strip& to, T* y) const {
  const bool residual = form == BaseForm::kResidual;
  with_tag(base, [&](auto tag) {
    if (form == BaseForm::kFixed) return values_of<tag.value, false>(w, residual, s, values, to, y);
    values_of<tag.value, true>(w, residual, s, values, to, y);
  });
}

template <class T>
void AddedBase<T>::add_gradients(Vec<T> w, const T* s, const T* upstream, const T* gradients, const Strip& to, T* dx,
                                 T* by_weight) const {
  const bool residual = form == BaseForm::kResidual;
  with_tag(base, [&](auto tag) {
    if (form == BaseForm::kFixed) {
      return gradients_of<tag.value, false>(w, residual, s, upstream, gradients, to, dx, by_weight);
    }
    gradients_of<tag.value, true>(w, residual, s, upstream, gradients, to, dx, by_weight);
  });
}

BaseAt base_at(Base base, float s) {
  BaseAt result = {0, 0};
  with_tag(base, [&](auto tag) {
    const BasePair<float> b = base_and_slope<tag.value>(splat<float>(s));
    result = {b.value.part[0][0], b.slope.part[0][0]};
  });
  return result;
}

template struct AddedBase<float>;
template struct AddedBase<double>;
