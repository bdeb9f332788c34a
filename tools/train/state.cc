#include "tools/train/state.h"

#include <nlohmann/json.hpp>

#include "runtime/base/status.h"
#include "tools/json/json.h"

namespace graphrun {
namespace {

using Json = nlohmann::ordered_json;

// An upper bound of all counts of a run, small enough that sums of counts do not overflow.
constexpr std::int64_t kMostCounted = std::int64_t{1} << 53;

Json json_of(const Patience& patience) {
  Json json = {{"waited", patience.waited}};
  if (patience.reference) json["reference"] = number_json(*patience.reference);
  return json;
}

Patience patience_of(const nlohmann::json& json) {
  Patience patience;
  json.at("waited").get_to(patience.waited);
  if (json.contains("reference")) patience.reference = number_of(json.at("reference"));
  return patience;
}

Json json_of(const BatchPosition& position) { return {{"epoch", position.epoch}, {"batch", position.batch}}; }

// Folders of older programs only have the rate.
void read_schedule(const nlohmann::json& json, TrainState& s) {
  json.at("learning_rate").get_to(s.schedule.rate);
  if (!json.contains("schedule")) {
    if (json.contains("best")) s.schedule.patience.reference = number_of(json.at("best"));
    return;
  }
  const auto& schedule = json.at("schedule");
  s.schedule.patience = patience_of(schedule);
  schedule.at("decays").get_to(s.schedule.decays);
  s.stop = patience_of(json.at("stop"));
  json.at("ended").get_to(s.ended);
  const auto& pending = json.at("pending");
  pending.at("batches").get_to(s.pending.batches);
  pending.at("loss").get_to(s.pending.loss);
  pending.at("per").get_to(s.pending.per);
  if (json.contains("validated")) {
    s.validated = {json["validated"].at("epoch").get<std::int64_t>(), json["validated"].at("batch").get<std::int64_t>()};
  }
}

}  // namespace

std::string state_text(const TrainState& s) {
  nlohmann::ordered_json json = {{"seed", s.seed},
                                 {"step", s.step},
                                 {"epoch", s.next.epoch},
                                 {"batch", s.next.batch},
                                 {"epoch_begun", s.epoch_begun},
                                 {"learning_rate", s.schedule.rate},
                                 {"loss_sum", s.loss_sum},
                                 {"loss_steps", s.loss_steps},
                                 {"recent_sum", s.recent_sum},
                                 {"recent_steps", s.recent_steps},
                                 {"best_epoch", s.best_epoch},
                                 {"metrics_bytes", s.metrics_bytes},
                                 {"finished", s.finished},
                                 {"averaged", s.averaged},
                                 {"model", s.model}};
  if (s.best) json["best"] = number_json(*s.best);
  if (s.seconds) json["seconds"] = *s.seconds;
  if (s.validated) json["validated"] = json_of(*s.validated);
  json["schedule"] = json_of(s.schedule.patience);
  json["schedule"]["decays"] = s.schedule.decays;
  json["stop"] = json_of(s.stop);
  json["ended"] = s.ended;
  json["pending"] = {{"batches", s.pending.batches}, {"loss", s.pending.loss}, {"per", s.pending.per}};
  return json_text(json, 1) + "\n";
}

TrainState parse_state(const std::string& text, const std::string& where) {
  try {
    const auto json = parse_json(text);
    TrainState s;
    json.at("seed").get_to(s.seed);
    json.at("step").get_to(s.step);
    json.at("epoch").get_to(s.next.epoch);
    json.at("batch").get_to(s.next.batch);
    json.at("epoch_begun").get_to(s.epoch_begun);
    read_schedule(json, s);
    json.at("loss_sum").get_to(s.loss_sum);
    json.at("loss_steps").get_to(s.loss_steps);
    json.at("recent_sum").get_to(s.recent_sum);
    json.at("recent_steps").get_to(s.recent_steps);
    json.at("best_epoch").get_to(s.best_epoch);
    json.at("metrics_bytes").get_to(s.metrics_bytes);
    json.at("finished").get_to(s.finished);
    // Older versions wrote neither of these. Their finished runs nearly always had a mean if the recipe asked for one.
    s.averaged = json.value("averaged", s.finished);
    s.model = json.value("model", "");
    if (json.contains("best")) s.best = number_of(json.at("best"));
    if (json.contains("seconds")) s.seconds = json.at("seconds").get<double>();
    for (const std::int64_t count : {s.step, s.next.epoch - 1, s.next.batch, s.loss_steps, s.recent_steps, s.best_epoch,
                                     s.metrics_bytes, s.stop.waited, s.schedule.patience.waited, s.schedule.decays}) {
      if (count < 0 || count > kMostCounted) throw std::runtime_error("it counts " + std::to_string(count));
    }
    if (s.seconds.value_or(0) < 0) throw std::runtime_error("a negative time");
    return s;
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& error) {
    throw UserError(ExitCode::kBadData, "E0661 bad-state",
                    "'" + where + "' does not contain the state of a run: " + error.what());
  }
}

}  // namespace graphrun
