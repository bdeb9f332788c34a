// Times an addition of arrays over processes, alone and behind work.
#pragma once

#include <algorithm>
#include <chrono>
#include <cmath>
#include <functional>
#include <vector>

namespace graphrun {

// Medians in milliseconds, of process 0.
struct ExchangeTimes {
  double add = 0;        // an addition
  double left = 0;       // how long it takes after work during which it proceeds
  double with_work = 0;  // that work
  double work = 0;       // the same work alone
};

inline double milliseconds_of(const std::function<void()>& act) {
  const auto begun = std::chrono::steady_clock::now();
  act();
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begun).count();
}

inline double median_of(std::vector<double> x) {
  std::nth_element(x.begin(), x.begin() + static_cast<std::ptrdiff_t>(x.size() / 2), x.end());
  return x[x.size() / 2];
}

// Arithmetic of one thread that needs no memory.
inline void work_rounds(std::int64_t rounds) {
  volatile double result = 0;
  double x = 0.5;
  for (std::int64_t i = 0; i < rounds * 1000; ++i) x = x * 0.999 + std::sqrt(x) * 1e-3;
  result = x;
  (void)result;
}

// `meet`: returns when all processes have called it. `add`: an addition. `begin` and `end`: its two halves.
inline ExchangeTimes time_exchange(int times, int work_ms, const std::function<void()>& meet, const std::function<void()>& add,
                                   const std::function<void()>& begin, const std::function<void()>& end) {
  std::int64_t rounds = 0;  // of as much work as one process alone does in that time
  const double needed = milliseconds_of([&] {
    while (rounds < 1000) work_rounds(100), rounds += 100;
  });
  rounds = static_cast<std::int64_t>(static_cast<double>(rounds) * work_ms / needed);
  std::vector<double> adds, lefts, with_works, works;
  for (int i = 0; i < times + 2; ++i) {
    meet();
    const double time = milliseconds_of(add);
    if (i >= 2) adds.push_back(time);  // the first ones find memory and connections
  }
  for (int i = 0; work_ms > 0 && i < std::max(1, times / 4); ++i) {
    meet();
    works.push_back(milliseconds_of([&] { work_rounds(rounds); }));
    meet();
    begin();
    with_works.push_back(milliseconds_of([&] { work_rounds(rounds); }));
    lefts.push_back(milliseconds_of(end));
  }
  if (work_ms == 0) return {median_of(adds), 0, 0, 0};
  return {median_of(adds), median_of(lefts), median_of(with_works), median_of(works)};
}

}  // namespace graphrun
