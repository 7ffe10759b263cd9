#include "kaf2d.h"

#include "entry.h"

extern const Entry kaf2d_entry = entry_of<Kaf2d>();
