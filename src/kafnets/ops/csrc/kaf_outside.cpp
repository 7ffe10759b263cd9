#include "kaf1d.h"

#include "entry.h"

extern const Entry kaf_outside_entry = entry_of<KafOutside>();
