// The base of a function, added to its sum of kernels.
#pragma once

#include "layout.h"
#include "outside.h"

// From buffers of whole vectors, one after the other, to a strip. w is the neurons' weight, if the form has one.
template <class T>
struct AddedBase {
  void add_values(Vec<T> w, const T* s, const T* values, const Strip& to, T* y) const;

  // To the gradients of s, if they are wanted, and to the sums of the weight's gradient by lane, if there is one. Lanes that
  // are not there must have no upstream.
  void add_gradients(Vec<T> w, const T* s, const T* upstream, const T* gradients, const Strip& to, T* dx,
                     T* by_weight) const;

  const Base base;
  const BaseForm form;
};

// The base and its slope at one number.
struct BaseAt {
  float value, slope;
};
BaseAt base_at(Base base, float s);
