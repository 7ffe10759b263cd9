#include "kaf_slopes.h"

#include "entry.h"

extern const Entry kaf_slopes_entry = entry_of<KafSlopes>();
extern const Entry kaf_slopes_by_bandwidth_entry = entry_of<KafSlopesByBandwidth>();
