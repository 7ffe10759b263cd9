#include "cubics.h"

#include "entry.h"

extern const Entry cubics_entry = entry_of<Cubics>();
