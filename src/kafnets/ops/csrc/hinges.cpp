#include "hinges.h"

#include "entry.h"

extern const Entry hinges_entry = entry_of<Hinges>();
