// How one expansion is to be computed: constants that depend on the dictionary and the bandwidth only.
//
// With spacing h, z = (s - c) / h counted from a center element c, and a = gamma h^2, a term is
//
//   exp(-a (z - m)^2) = exp(-a z^2) * exp(2 a z)^m * exp(-a m^2)
//
// for the element m places from the center. All three factors have to stay inside the range of the
// floating-point type, so a long or narrow dictionary is cut into segments with a center each. A segment
// contributes to activations within reach of its center; beyond, its terms are below 2e-12 (float32) or 1e-75
// (float64) and count as 0.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <list>
#include <utility>
#include <vector>

#include "exponential.h"
#include "settings.h"

template <class T>
struct Range;

// With t = z sqrt(a): |t| <= kReach, and |t| <= kExtent for the elements themselves. The first factor is kept
// 2^kBias times larger and the last one smaller, which makes better use of the range: exp(-kReach^2) 2^kBias
// is still a normal number, and exp(2 kReach kExtent) 2^-kBias does not overflow.
template <>
struct Range<float> {
  using Wide = double;
  static constexpr int kBias = 36;
  static constexpr double kReach = 10.53, kExtent = 5.32, kLargestExponent = 87;
};

template <>
struct Range<double> {
  using Wide = long double;
  static constexpr int kBias = 0;
  static constexpr double kReach = 26.4, kExtent = 13.2, kLargestExponent = 700;
};

template <class T>
struct Segment {
  int begin, below, above;  // elements begin ... begin + below + above, the center being begin + below
  T center, offset;         // its place, rounded, and what is to be added to x for that
  T shift;                  // x at M places from the middle segment's center
  T up, up_rest, down, down_rest;  // exp(-2 a M) and exp(2 a M), with the relative errors of all these roundings
};

// Apart from the lists, so that loops can work with a copy that no store can change, as far as the compiler knows.
template <class T>
struct PlanConstants {
  T to_power, limit;         // x = to_power * (s - c), by which exp(2 a z) = 2^x; beyond limit nothing is left
  T to_z;                    // z = to_z * x
  T quarter, quarter_rest;   // exp(-a z^2) = 2^(quarter x^2), the factor in two parts
};

template <class T>
struct Plan : PlanConstants<T> {
  using PlanConstants<T>::to_power, PlanConstants<T>::limit, PlanConstants<T>::to_z, PlanConstants<T>::quarter,
      PlanConstants<T>::quarter_rest;
  int size;
  T slope;                   // 2 a / h
  std::vector<Segment<T>> segments;
  T limit_of_all;            // beyond that from the middle segment's center, no segment has anything left
  bool shares;               // whether the segments' ratios are found from that of the middle one
  bool skips;                // whether to look for segments that no lane of a vector is near: with many, it pays
  std::vector<T> weights;    // 2^-kBias exp(-a m^2), by element
  std::vector<T> places;     // m, by element
  std::vector<double> left_slopes, right_slopes;  // the kernel's derivative at the dictionary's ends, by element

  // Where the dictionary begins, its spacing, and gamma.
  explicit Plan(const Settings& s) : size(static_cast<int>(s.size)) {
    const double begin_of_all = s.first, gamma = s.third;
    // The constants have to fit each other to more digits than T has: exp(-a m^2) with a m^2 = 100 would show a
    // rounding of a a hundredfold.
    using Wide = typename Range<T>::Wide;
    const Wide spacing = s.second, a = gamma * spacing * spacing, root = std::sqrt(a);
    slope = static_cast<T>(2 * gamma * spacing);
    // Powers of a rounded ratio lose a rounding a place. Where the kernel is wide, far places count as much as
    // near ones, so segments stay short.
    const Wide longest = a < Wide(1) / 12 ? 6 : 13;
    const bool overflows = 2 * root * Range<T>::kReach > Range<T>::kLargestExponent;  // exp(2 a z) itself
    const int half = overflows ? 0 : static_cast<int>(std::min<Wide>(Range<T>::kExtent / root, longest));
    // Segments of one element need no ratio, and are the more exact the fewer roundings lead to x: it is s - c itself.
    const Wide a2 = a * Wide(kLog2E), exact_to_power = half > 0 ? 2 * a2 / spacing : 1;
    const Wide exact_quarter = -a2 / (spacing * spacing * exact_to_power * exact_to_power);
    to_power = static_cast<T>(exact_to_power);
    limit = static_cast<T>(Range<T>::kReach / root * spacing * exact_to_power);
    to_z = static_cast<T>(1 / (spacing * exact_to_power));
    quarter = static_cast<T>(exact_quarter);
    quarter_rest = static_cast<T>(exact_quarter - quarter);
    const int count = (size + 2 * half) / (2 * half + 1);
    const auto begin_of = [&](int i) { return static_cast<int>(int64_t{size} * i / count); };
    const auto center_of = [&](int i) { return begin_of(i) + (begin_of(i + 1) - begin_of(i)) / 2; };
    const int middle = center_of(count / 2);
    const Wide largest_shift = a2 * (size + 2);
    limit_of_all = limit + static_cast<T>(largest_shift);
    shares = half > 0 && count > 1 && limit_of_all + largest_shift < Range<T>::kLargestExponent * kLog2E;
    for (int i = 0; i < count; ++i) {
      const int begin = begin_of(i), end = begin_of(i + 1), center = center_of(i), below = center - begin;
      const Wide place = begin_of_all + center * spacing;
      const T rounded = static_cast<T>(place);
      const Wide shift = 2 * a2 * (center - middle), up = std::exp2(-shift), down = std::exp2(shift);
      const T shift_rounded = static_cast<T>(shift), up_rounded = static_cast<T>(up),
              down_rounded = static_cast<T>(down);
      const Wide shift_rest = (shift - shift_rounded) * Wide(kLn2);
      segments.push_back({begin, below, end - center - 1, rounded,
                          static_cast<T>((rounded - place) * exact_to_power), shift_rounded, up_rounded,
                          static_cast<T>(up / up_rounded - 1 + shift_rest), down_rounded,
                          static_cast<T>(down / down_rounded - 1 - shift_rest)});
      for (int k = begin; k < end; ++k) {
        weights.push_back(static_cast<T>(std::ldexp(std::exp(-a * (k - center) * (k - center)), -Range<T>::kBias)));
        places.push_back(static_cast<T>(k - center));
      }
    }
    skips = segments.size() > 4;
    for (int k = 0; k < size; ++k) {
      const double left = -k * s.second, right = (size - 1 - k) * s.second;
      left_slopes.push_back(-2 * gamma * left * std::exp(-gamma * left * left));
      right_slopes.push_back(-2 * gamma * right * std::exp(-gamma * right * right));
    }
  }
};

// The plan for these settings, made once by each thread that asks. On a row or two, as when a policy acts, making it
// takes longer than using it. It stays until the thread has asked for kPlansKept others, so whoever holds it must be
// done before: a kernel is made for one call, and its thread waits for the threads that help it.
template <class AnyPlan>
const AnyPlan& plan_for(const Settings& settings) {
  constexpr size_t kPlansKept = 8;
  static thread_local std::list<std::pair<const Settings, const AnyPlan>> kept;  // the last one used first
  const auto found = std::find_if(kept.begin(), kept.end(), [&](const auto& one) { return one.first == settings; });
  if (found == kept.end()) {
    kept.emplace_front(settings, AnyPlan(settings));
    if (kept.size() > kPlansKept) kept.pop_back();
  } else if (found != kept.begin()) {
    kept.splice(kept.begin(), kept, found);
  }
  return kept.front().second;
}
