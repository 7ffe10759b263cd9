// The kernels as XLA calls them, for JAX.
#pragma once

// By name, with what Python passes to jax.ffi.register_ffi_target.
struct XlaHandler {
  const char* name;
  void* function;
};

extern const XlaHandler xla_handlers[];
extern const int xla_handler_count;
