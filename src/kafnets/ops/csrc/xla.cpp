// Handlers of XLA's foreign function interface.
//
// Its structures are declared here as far as they are needed, so that nothing of JAX has to be there when the kernels are
// built. They are those of version 0.3; XLA asks a handler for its version when it is registered, and refuses another.
#include "xla.h"

#include <algorithm>
#include <cstddef>

#include "entry.h"

namespace {

constexpr int kMajorVersion = 0, kMinorVersion = 3, kFloat32 = 11, kExecute = 3, kMetadata = 1;

struct Extension {
  size_t bytes;
  int type;
  Extension* next;
};

struct Header {
  size_t bytes;
  Extension* extensions;
};

struct Metadata {
  size_t bytes;
  Header version;
  int major, minor;
  uint32_t traits;
  int64_t state_type;
};

struct MetadataExtension {
  Extension base;
  Metadata* metadata;
};

struct Buffer {
  Header header;
  int dtype;
  void* data;
  int64_t rank;
  const int64_t* sizes;

  uintptr_t address() const { return reinterpret_cast<uintptr_t>(data); }
  int64_t count() const {
    int64_t result = 1;
    for (int64_t i = 0; i < rank; ++i) result *= sizes[i];
    return result;
  }
};

struct Buffers {
  Header header;
  int64_t count;
  int* types;
  Buffer** items;
};

struct ArrayOfNumbers {
  int dtype;
  size_t count;
  const double* numbers;
};

struct Attributes {
  Header header;
  int64_t count;
  int* types;
  void** names;
  ArrayOfNumbers** items;
};

struct CallFrame {
  Header header;
  const void* api;
  void* context;
  int stage;
  Buffers arguments, results;
  Attributes attributes;  // one: five settings, and the number of threads
};

// Whether there is anything to execute. Before, the version is asked for.
bool is_execution(CallFrame* frame) {
  if (frame->header.extensions && frame->header.extensions->type == kMetadata) {
    Metadata* metadata = reinterpret_cast<MetadataExtension*>(frame->header.extensions)->metadata;
    metadata->major = kMajorVersion;
    metadata->minor = kMinorVersion;
    return false;
  }
  return frame->stage == kExecute;
}

struct Sizes {
  explicit Sizes(const Buffer& x, const Buffer& table)
      : neurons(table.sizes[0]), size(table.sizes[1]), batch(neurons ? x.count() / neurons : 0) {}
  const int64_t neurons, size, batch;
};

// Activations and coefficients to values, channels last.
template <const Entry& kEntry>
void* forward(CallFrame* frame) noexcept {
  if (!is_execution(frame)) return nullptr;
  const Buffer &x = *frame->arguments.items[0], &table = *frame->arguments.items[1], &y = *frame->results.items[0];
  const Sizes n(x, table);
  const double* given = frame->attributes.items[0]->numbers;
  if (n.batch == 0) return nullptr;
  const auto run = x.dtype == kFloat32 ? kEntry.forward_float32 : kEntry.forward_float64;
  run(x.address(), table.address(), y.address(), n.batch, n.neurons, 1, n.size, given[0], given[1], given[2], given[3],
      given[4], static_cast<int>(given[5]));
  return nullptr;
}

// Upstream gradients, activations and coefficients to both gradients; if there is but one result, that of the
// coefficients.
template <const Entry& kEntry>
void* backward(CallFrame* frame) noexcept {
  if (!is_execution(frame)) return nullptr;
  const Buffer &u = *frame->arguments.items[0], &x = *frame->arguments.items[1], &table = *frame->arguments.items[2];
  const Buffer& sums = *frame->results.items[frame->results.count - 1];
  const Sizes n(x, table);
  const double* given = frame->attributes.items[0]->numbers;
  if (n.batch == 0) {
    std::fill_n(static_cast<char*>(sums.data), sums.count() * (x.dtype == kFloat32 ? 4 : 8), 0);
    return nullptr;
  }
  const auto run = x.dtype == kFloat32 ? kEntry.backward_float32 : kEntry.backward_float64;
  run(x.address(), table.address(), u.address(), frame->results.count == 2 ? frame->results.items[0]->address() : 0,
      sums.address(), n.batch, n.neurons, 1, n.size, given[0], given[1], given[2], given[3], given[4],
      static_cast<int>(given[5]));
  return nullptr;
}

template <const Entry& kEntry>
void* pointer_to_forward() {
  return reinterpret_cast<void*>(&forward<kEntry>);
}

template <const Entry& kEntry>
void* pointer_to_backward() {
  return reinterpret_cast<void*>(&backward<kEntry>);
}

}  // namespace

extern const XlaHandler xla_handlers[] = {
    {"kaf_forward", pointer_to_forward<kaf_entry>()},
    {"kaf_backward", pointer_to_backward<kaf_entry>()},
    {"kaf_slopes_forward", pointer_to_forward<kaf_slopes_entry>()},
    {"kaf_slopes_backward", pointer_to_backward<kaf_slopes_entry>()},
};
extern const int xla_handler_count = sizeof(xla_handlers) / sizeof(xla_handlers[0]);
