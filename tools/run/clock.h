// Times: of the day for people, and of a clock that only rises for measuring.
#pragma once

#include <string>

namespace graphrun {

double seconds_now();     // of a steady clock
std::string time_text();  // "2026-01-31T12:00:00Z"

}  // namespace graphrun
