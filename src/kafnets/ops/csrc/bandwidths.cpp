#include "bandwidths.h"

#include "entry.h"

extern const Entry kaf_by_bandwidth_entry = entry_of<KafByBandwidth>();
