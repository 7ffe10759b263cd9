#include "kaf1d.h"

#include "entry.h"

extern const Entry kaf_entry = entry_of<Kaf1d>();
