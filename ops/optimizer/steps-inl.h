// The rules of ops/optimizer/table.def as code, for scalars (CUDA) and vectors (the CPU): Rule_adam<V> and so on, whose members
// are the slots and numbers by their names in the table. Included inside a namespace that has sqrt, select, mul_add and
// neg_mul_add for V, after RULE_FUNCTION, the declaration specifiers of its functions, is defined.
#ifndef RULE_FUNCTION
#error "RULE_FUNCTION says how the functions of a rule are declared"
#endif

#define RULE(name, ...)            \
  template <class V>               \
  struct Rule_##name {             \
    const Numbers_##name& numbers; \
    V rate = V(numbers.rate);
#define SLOT(slot, ...) V slot = V(0);
#define SETTING(setting, ...) V setting = V(numbers.setting);
#define FLAG(flag, ...) bool flag = numbers.flag;
#define FACTOR(factor, ...) V factor = V(numbers.factor);
#define WITHOUT_DECAY(...) \
  RULE_FUNCTION V without_decay(V p, V gradient) { return __VA_ARGS__; }
#define STEP(...) \
  RULE_FUNCTION V step(V g) { __VA_ARGS__ }
#define END() \
  }           \
  ;
#include "ops/optimizer/table.def"

#undef RULE_FUNCTION
