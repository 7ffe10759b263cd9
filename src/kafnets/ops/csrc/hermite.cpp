#include "hermite.h"

#include "entry.h"

extern const Entry hermite_entry = entry_of<Hermite>();
