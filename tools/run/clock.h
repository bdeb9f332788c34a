// The time of day, for people, and a monotonic clock, for measuring.
#pragma once

#include <string>

namespace graphrun {

double seconds_now();     // of a monotonic clock
std::string time_text();  // "2026-01-31T12:00:00Z"

}  // namespace graphrun
