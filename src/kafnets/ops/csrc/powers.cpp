#include "powers.h"

#include "entry.h"

extern const Entry powers_entry = entry_of<Powers>();
