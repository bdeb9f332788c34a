// The numbers that the rules of ops/optimizer/table.def work with, for host and device: what an op's attributes say, and what
// an update makes of them.
#pragma once

#include <cmath>

#include "runtime/base/attributes.h"

namespace graphrun {

// Whether a rule reads the number of the update.
enum class Counted : bool { kNo, kYes };

// Slots_adam::kCount, and Slots_adam::v among them.
#define RULE(name, ...) \
  struct Slots_##name { \
    enum : int {
#define SLOT(slot, doc) slot,
#define END() \
  kCount      \
  }           \
  ;           \
  }           \
  ;
#include "ops/optimizer/table.def"

// Settings and flags.
#define RULE(name, counted, ...)                        \
  struct Settings_##name {                              \
    static constexpr const char* kOp = #name "_update"; \
    static constexpr Counted kCounted = counted;
#define SETTING(setting, value, ...) double setting = value;
#define FLAG(flag, value, ...) bool flag = value;
#define END() \
  }           \
  ;
#include "ops/optimizer/table.def"

// The settings that a node's attributes hold.
#define RULE(name, ...) inline Settings_##name settings_of(const Attributes& attributes, Settings_##name settings) {
#define SETTING(setting, ...) settings.setting = attributes.number(#setting);
#define FLAG(flag, ...) settings.flag = attributes.boolean(#flag);
#define END()                    \
  static_cast<void>(attributes); \
  return settings;               \
  }
#include "ops/optimizer/table.def"

// All of one update, in double, a member made of those before it. An aggregate: Numbers_adam{settings, rate, scale, t}.
#define RULE(name, ...)               \
  struct Numbers_##name {             \
    using Slots = Slots_##name;       \
    using Settings = Settings_##name; \
    Settings settings;                \
    double rate = 0, scale = 1, t = 1;
#define SETTING(setting, ...) double setting = settings.setting;
#define FLAG(flag, ...) bool flag = settings.flag;
#define FACTOR(factor, expression) double factor = expression;
#define END() \
  }           \
  ;
#include "ops/optimizer/table.def"

}  // namespace graphrun
