#include "tools/tune/Library.h"
#include "core/cache/CachedCompiler.h"
#include "core/service/BuildId.h"
#include "tools/tsr/Source.h"
#include "tools/tune/TuneDocument.h"
#include <algorithm>

namespace tessera::tune {
namespace {

using cli::Json;
using Texts = std::vector<std::pair<std::string, std::string>>;

/// Who asked.
struct Caller {
  void (*report)(void *, const char *);
  int (*isStopped)(void *);
  void *user;
  void tell(const char *what, Json value) const {
    report(user, Json{{what, std::move(value)}}.dump(-1, ' ', false, Json::error_handler_t::replace).c_str());
  }
};

std::string text(const Json &request, const char *key) { return request.value(key, std::string()); }

/// ["x", "1"] pairs.
Texts pairs(const Json &request, const char *key) {
  Texts out;
  for (const Json &pair : request.value(key, Json::array()))
    out.emplace_back(pair.at(0), pair.at(1));
  return out;
}

Json documentOf(const cli::Errors &errors) {
  Json list = Json::array();
  for (const Error &e : errors)
    list.push_back({{"code", e.code}, {"message", e.message}, {"hint", e.hint}});
  return Json{{"errors", list}};
}

/// As tessera._errors.of_status() takes them.
Json documentOf(const std::vector<Diagnostic> &diags) {
  Json list = Json::array();
  for (const Diagnostic &d : diags)
    list.push_back({int(d.severity), d.code, d.message, d.file, d.line, d.col,
                    d.endCol > d.col ? d.endCol - d.col : 0, d.hint, d.sourceLine});
  return Json{{"diagnostics", list}};
}

class Listener final : public TuneListener {
public:
  explicit Listener(const Caller &caller) : caller_(caller) {}
  void onProgress(const TuneProgress &p) override {
    caller_.tell("progress", {{"kernel", p.kernel},
                              {"dims", cli::objectOf(p.dims)},
                              {"done", p.done},
                              {"all", p.all},
                              {"best", cli::objectOf(valuesOf(p.best))},
                              {"gain", p.gain},
                              {"seconds_left", p.secondsLeft}});
  }
  void onResult(const SizeResult &found) override { caller_.tell("result", documentOf(found)); }
  bool isStopped() override { return caller_.isStopped(caller_.user) != 0; }

private:
  const Caller &caller_;
};

Json tuneKernel(const Json &request, const Caller &caller) {
  TuneRequest r;
  r.source = text(request, "source");
  r.options.fileName = text(request, "file");
  r.options.kernels = {text(request, "kernel")};
  if (auto e = cli::chooseNumerics(text(request, "numerics"), r.options)) return documentOf(cli::Errors{*e});
  r.options.supplied.types = pairs(request, "types");
  r.options.supplied.constants = pairs(request, "constants");
  for (const Json &piece : request.value("pieces", Json::array()))
    r.options.supplied.pieces.push_back({piece.at(0), piece.at(2), piece.at(1)});
  r.arguments.in = pairs(request, "in");
  r.arguments.scalars = pairs(request, "scalars");
  for (const Json &size : request.at("sizes")) {
    r.sizes.emplace_back();
    for (const Json &dim : size)
      r.sizes.back().emplace_back(dim.at(0), dim.at(1));
  }
  r.budget = request.at("budget");
  r.seed = request.at("seed");
  r.database = text(request, "database");
  r.lookUp = text(request, "look_up");
  if (auto e = chooseFiles(r.database, r.lookUp)) return documentOf(cli::Errors{*e});

  std::vector<Signature> signatures;
  std::vector<Diagnostic> diags;
  if (cachedCompiler()->signatures(r.source, r.options.fileName, signatures, diags, r.options.supplied) !=
      CompileStatus::Ok) {
    diags.clear(); // emit() reports the same, at the places of the pieces
    std::string ignored;
    (void)cachedCompiler()->emit(r.source, r.options, Emit::Graph, ignored, diags);
    return documentOf(diags);
  }
  const Signature *signature = nullptr;
  if (auto e = cli::chooseKernel(signatures, cli::onlyKernel(r.options), signature))
    return documentOf(cli::Errors{*e});
  Listener listener(caller);
  const TuneOutcome outcome = runTuning(r, *signature, listener);
  Json answer = documentOf(outcome.errors);
  answer["database"] = r.database;
  answer["look_up"] = r.lookUp;
  answer["choices"] = outcome.choices;
  return answer;
}

/// What is done with databases alone.
Json useFiles(const Json &request) {
  const std::string what = text(request, "do");
  std::string database = text(request, "database"), lookUp = text(request, "look_up");
  if (auto e = chooseFiles(database, lookUp)) return documentOf(cli::Errors{*e});
  if (what == "list") {
    auto choices = readChoices(database);
    if (!choices) return documentOf(cli::Errors{choices.error()});
    return {{"database", database}, {"choices", documentOf(*choices, TESSERA_BUILD_ID)}};
  }
  Expected<size_t> count = what == "merge" ? mergeDatabases(request.at("files"), database, lookUp)
                                           : exportChoices(database, lookUp);
  if (!count) return documentOf(cli::Errors{count.error()});
  return {{"database", database}, {"look_up", lookUp}, {"choices", *count}};
}

} // namespace
} // namespace tessera::tune

void tesseraTuner(const char *request, void (*report)(void *, const char *), int (*isStopped)(void *),
                  void *user) {
  using namespace tessera::tune;
  const Caller caller{report, isStopped, user};
  Json answer;
  try {
    const Json parsed = Json::parse(request);
    answer = text(parsed, "do") == "tune" ? tuneKernel(parsed, caller) : useFiles(parsed);
  } catch (const std::bad_alloc &) {
    answer = documentOf(tessera::cli::Errors{{"E_OUT_OF_MEMORY", "the host's memory is exhausted", ""}});
  } catch (const std::exception &e) { // of a request that is none
    answer = documentOf(tessera::cli::Errors{{"E_INTERNAL", e.what(), ""}});
  }
  try {
    caller.tell("answer", std::move(answer));
  } catch (const std::exception &) {
    report(user, R"({"answer": {"errors": [{"code": "E_OUT_OF_MEMORY", "message": "", "hint": ""}]}})");
  }
}
