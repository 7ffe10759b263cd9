#include "bells.h"

#include "entry.h"

extern const Entry bells_entry = entry_of<Bells>();
