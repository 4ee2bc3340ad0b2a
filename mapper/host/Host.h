// Asks the mapper of this process: which mapper that is, how long it may take, and what it may answer.
//
// A mapper is foreign code. Each question runs on a thread of its own and has a deadline. Whatever the hook
// throws or returns becomes an answer from the legal set or a Failure that names the mapper, the call and the
// legal set. All functions may be called from any thread.
#pragma once
#include "core/support/Fork.h"
#include "mapper/host/Failure.h"
#include "mapper/host/Question.h"
#include <atomic>
#include <chrono>
#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <tessera/mapper.hpp>

namespace tessera::mapping {

/// A mapper with the name under which errors and metadata refer to it.
class Host {
public:
  /// The time within which a mapper must answer.
  static constexpr std::chrono::milliseconds kDeadline{10'000};

  Host(std::string name, std::shared_ptr<Mapper> mapper, std::chrono::milliseconds deadline = kDeadline)
      : name_(std::move(name)), mapper_(std::move(mapper)), deadline_(deadline) {}
  const std::string &name() const { return name_; }

  /// Returns whether the mapper is `default`, which need not be asked.
  bool choosesNothing() const;

  /// Each throws Failure. The result is a legal answer. When the mapper chose nothing, a variant is the
  /// default, and a place or an algorithm is "".
  Mapper::Choice place(const Mapper::Region &, const Mapper::Mesh &);
  Mapper::Choice chooseCollective(const Mapper::CollectiveCall &);
  /// Like chooseCollective(), but asks only once for each different call: answers are kept, failures are not.
  /// Threads that ask at the same time wait for one answer or one failure.
  Mapper::Choice algorithmFor(const Mapper::CollectiveCall &);
  /// `where`: "mlp.py:7", or ""; `refused`: variants that are known but not legal, and why.
  Mapper::Choice chooseVariant(const Mapper::VariantCall &, const std::string &where = "",
                               const std::vector<std::pair<std::string, std::string>> &refused = {});

private:
  template <class Hook> Mapper::Choice run(const Question &, const std::string &where, Hook hook);
  Mapper::Choice check(const Question &, const std::string &where, Mapper::Choice,
                       const std::vector<std::pair<std::string, std::string>> &refused) const;
  Failure failed(const Question &, const std::string &where, Failure) const;

  const std::string name_;
  const std::shared_ptr<Mapper> mapper_;
  const std::chrono::milliseconds deadline_;
  /// The answer to a question, which may still be pending.
  struct Algorithm {
    // the asking thread's process, by forkCount(); after a fork the child does not have that thread
    uint64_t process;
    std::shared_future<Mapper::Choice> answer;
    bool willCome() const {
      return process == forkCount() || answer.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
    }
  };
  std::mutex algorithmMutex_; // not held while a question is asked
  HeldAcrossFork algorithmMutexHeld_{algorithmMutex_};
  /// Keyed by question.
  std::map<std::string, Algorithm> algorithms_;
  // questions whose deadline passed and that are still running
  const std::shared_ptr<std::atomic<int>> late_ = std::make_shared<std::atomic<int>>(0);
};

/// Returns the current mapper: the one set by a call, else the one of TESSERA_MAPPER; null when there is
/// none. Throws Failure when the mapper of TESSERA_MAPPER cannot be made.
std::shared_ptr<Host> current();

/// Increases whenever another mapper is set.
uint64_t generation() noexcept;

/// Makes `host` the current mapper; null: TESSERA_MAPPER decides again.
void setCurrent(std::shared_ptr<Host> host);

/// Called at the end of the process: removes the mappers and prevents new ones.
void letGoOfMappers();

/// Makes a mapper from its spec, with the spec as its name. Throws Failure.
std::shared_ptr<Host> makeHost(const std::string &spec);

} // namespace tessera::mapping
