// One kernel, forward and backward, on numbers from standard input: activations, table, upstream gradients. It writes
// values and both gradients. Arguments: kernel, dtype, batch, neurons, positions, inputs per neuron, table's width, its
// numbers per neuron, five settings.
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <vector>

#include "entry.h"

template <class T, class Forward, class Backward>
int run(const Forward& forward, const Backward& backward, char** argument) {
  const int64_t batch = std::atoll(argument[0]), neurons = std::atoll(argument[1]), positions = std::atoll(argument[2]);
  const int64_t outputs = batch * neurons * positions, size = std::atoll(argument[4]);
  double s[5];
  for (int i = 0; i < 5; ++i) s[i] = std::atof(argument[6 + i]);
  std::vector<T> x(outputs * std::atoll(argument[3])), table(neurons * std::atoll(argument[5])), u(outputs), y(outputs);
  for (auto* each : {&x, &table, &u}) {
    if (std::fread(each->data(), sizeof(T), each->size(), stdin) != each->size()) return 1;
  }
  std::vector<T> dx(x.size()), dtable(table.size());
  const auto address = [](const std::vector<T>& each) { return reinterpret_cast<uintptr_t>(each.data()); };
  forward(address(x), address(table), address(y), batch, neurons, positions, size, s[0], s[1], s[2], s[3], s[4], 1);
  backward(address(x), address(table), address(u), address(dx), address(dtable), batch, neurons, positions, size, s[0],
           s[1], s[2], s[3], s[4], 1);
  for (const auto* each : {&y, &dx, &dtable}) std::fwrite(each->data(), sizeof(T), each->size(), stdout);
  return 0;
}

int main(int count, char** argument) {
  const std::map<std::string, const Entry*> entries{{"kaf", &kaf_entry},
                                                    {"kaf2d", &kaf2d_entry},
                                                    {"kaf_by_bandwidth", &kaf_by_bandwidth_entry},
                                                    {"kaf_slopes", &kaf_slopes_entry},
                                                    {"kaf_slopes_by_bandwidth", &kaf_slopes_by_bandwidth_entry}};
  if (count != 14) return 2;
  const Entry& entry = *entries.at(argument[1]);
  if (std::string(argument[2]) == "float32") return run<float>(entry.forward_float32, entry.backward_float32, argument + 3);
  return run<double>(entry.forward_float64, entry.backward_float64, argument + 3);
}
