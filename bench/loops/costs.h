// Measures what swapping costs where it gains nothing: entries into loops, and the watch for hot ones. Prints figures.
#pragma once

namespace trident::bench {

void print_entry_cost();
void print_detection_cost();

}  // namespace trident::bench
