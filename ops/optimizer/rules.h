// The numbers that the rules of ops/optimizer/table.def use, for host and device: an op's attributes, and what an update
// computes from them.
#pragma once

#include <cmath>

#include "runtime/base/attributes.h"

namespace graphrun {

// Whether a rule reads the number of the update.
enum class Counted : bool { kNo, kYes };

// Slots_adam: the slots of a rule, as indices, and their number kCount.
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

// The settings in a node's attributes.
#define RULE(name, ...) inline Settings_##name settings_of(const Attributes& attributes, Settings_##name settings) {
#define SETTING(setting, ...) settings.setting = attributes.number(#setting);
#define FLAG(flag, ...) settings.flag = attributes.boolean(#flag);
#define END()                    \
  static_cast<void>(attributes); \
  return settings;               \
  }
#include "ops/optimizer/table.def"

// All numbers of one update, in double; each member is computed from those before it. An aggregate: Numbers_adam{settings,
// rate, scale, t}.
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
