#include "tools/train/state.h"

#include <nlohmann/json.hpp>

#include "runtime/status.h"

namespace graphrun {

std::string state_text(const TrainState& s) {
  nlohmann::ordered_json json = {{"seed", s.seed},
                                 {"step", s.step},
                                 {"epoch", s.next.epoch},
                                 {"batch", s.next.batch},
                                 {"epoch_begun", s.epoch_begun},
                                 {"learning_rate", s.learning_rate},
                                 {"loss_sum", s.loss_sum},
                                 {"loss_steps", s.loss_steps},
                                 {"recent_sum", s.recent_sum},
                                 {"recent_steps", s.recent_steps},
                                 {"best_epoch", s.best_epoch},
                                 {"metrics_bytes", s.metrics_bytes},
                                 {"finished", s.finished},
                                 {"model", s.model}};
  if (s.best) json["best"] = *s.best;
  return json.dump(1) + "\n";
}

TrainState parse_state(const std::string& text, const std::string& where) {
  try {
    const auto json = nlohmann::json::parse(text);
    TrainState s;
    json.at("seed").get_to(s.seed);
    json.at("step").get_to(s.step);
    json.at("epoch").get_to(s.next.epoch);
    json.at("batch").get_to(s.next.batch);
    json.at("epoch_begun").get_to(s.epoch_begun);
    json.at("learning_rate").get_to(s.learning_rate);
    json.at("loss_sum").get_to(s.loss_sum);
    json.at("loss_steps").get_to(s.loss_steps);
    json.at("recent_sum").get_to(s.recent_sum);
    json.at("recent_steps").get_to(s.recent_steps);
    json.at("best_epoch").get_to(s.best_epoch);
    json.at("metrics_bytes").get_to(s.metrics_bytes);
    json.at("finished").get_to(s.finished);
    s.model = json.value("model", "");  // an older program wrote none
    if (json.contains("best")) s.best = json.at("best").get<double>();
    if (s.step < 0 || s.next.epoch < 1 || s.next.batch < 0 || s.metrics_bytes < 0)
      throw std::runtime_error("a negative number");
    return s;
  } catch (const std::exception& error) {
    throw UserError(ExitCode::kBadData, "E0661 bad-state", "'" + where + "' does not say where a run stands: " + error.what());
  }
}

}  // namespace graphrun
