// A device that does nothing and counts its calls.
#pragma once

#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "runtime/tensor/backend.h"

namespace graphrun {

class Counting : public Backend {
 public:
  std::string name() const override { return "one that counts"; }
  std::string uuid() const override { return "GPU-that-counts"; }
  void use() override {}
  void* allocate(std::size_t) override { return nullptr; }
  void release(void*) override {}
  void to_device(void*, const void*, std::size_t) override {}
  void to_host(std::span<const ToHost>) override {}
  std::shared_ptr<Arrival> to_host_later(std::span<const ToHost>) override { return nullptr; }
  void copy(void*, const void*, std::size_t) override {}
  void clear(void*, std::size_t) override {}
  void* stream() override { return nullptr; }
  DeviceLimits limits() const override { return {}; }
  void wait() override {}
  void auxiliary(std::size_t k) override { streams.push_back(k); }
  void join() override {
    ++joins;
    if (!joining) throw std::runtime_error("no stream is joined");
  }

  void record() override {
    if (!begins) throw std::runtime_error("no recording begins");
    recording = true;
  }
  std::shared_ptr<const Recording> recorded() override {
    recording = false;
    return records ? std::make_shared<Recording>() : nullptr;
  }
  void play(const Recording&) override { ++plays; }

  bool begins = true, records = true, recording = false;
  int plays = 0, joins = 0;
  std::vector<std::size_t> streams;
  bool joining = true;
};

}  // namespace graphrun
