#include "mapper/host/Mappers.h"
#include "core/plugin/Ending.h"
#include "core/plugin/Registry.h"
#include "core/support/NearestName.h"
#include "mapper/host/Decisions.h"
#include "mapper/host/Host.h"
#include "mapper/host/TableMapper.h"
#include <algorithm>
#include <charconv>
#include <iterator>

namespace tessera::mapping {
namespace {

constexpr std::string_view kBuiltins[] = {"default", "logging", "random", "replay"};
constexpr int kMaxNesting = 16;

class Maker {
public:
  explicit Maker(const std::string &whole) : whole_(whole) {}

  std::unique_ptr<Mapper> make(const Piece &piece, int depth = 0) {
    Spec spec;
    SpecError error;
    if (!parseSpec(piece, spec, error)) wrong(error.what, error.at);
    if (depth > kMaxNesting)
      wrong("more than " + std::to_string(kMaxNesting) + " mappers in one another", piece.at);
    const std::string &name = spec.name.text;
    if (name == "default") {
      if (!spec.arguments.text.empty()) wrong("default takes nothing in parentheses", spec.arguments.at);
      return std::make_unique<Mapper>();
    }
    if (name == "random") return makeRandom(seed(spec));
    if (name == "replay") {
      if (spec.arguments.text.empty())
        wrong("replay needs the file: replay(decisions.yaml)", spec.arguments.at);
      return makeReplay(spec.arguments.text);
    }
    if (name == "logging") return logging(spec, depth);
    return external(spec);
  }

private:
  [[noreturn]] void wrong(const std::string &what, size_t at) const {
    throw Failure(TSR_EINVAL, "E_MAPPER_SPEC", show(whole_, {what, at}),
                  "a mapper is NAME or NAME(ARGUMENTS), as in logging(random(42), decisions.yaml)");
  }

  uint64_t seed(const Spec &spec) const {
    const std::string &text = spec.arguments.text;
    uint64_t value = 0;
    auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size())
      wrong("random needs a seed, a whole number: random(42)", spec.arguments.at);
    return value;
  }

  std::unique_ptr<Mapper> logging(const Spec &spec, int depth) {
    const std::vector<Piece> pieces = splitArguments(spec.arguments);
    if (pieces.size() > 2) wrong("logging takes a mapper and a file", pieces[2].at);
    std::unique_ptr<Mapper> inner = pieces.empty() ? std::make_unique<Mapper>() : make(pieces[0], depth + 1);
    if (pieces.size() == 2 && pieces[1].text.empty()) wrong("expected a file", pieces[1].at);
    return makeLogging(std::move(inner), pieces.size() == 2 ? pieces[1].text : "tessera-decisions.yaml");
  }

  std::unique_ptr<Mapper> external(const Spec &spec) const {
    const std::string &name = spec.name.text;
    std::string why;
    PluginRef plugin = loadPlugin(TSR_PLUGIN_MAPPER, name, why);
    if (!plugin) {
      std::vector<std::string> all(std::begin(kBuiltins), std::end(kBuiltins));
      for (std::string &installed : usablePlugins(TSR_PLUGIN_MAPPER))
        all.push_back(std::move(installed));
      std::string hint = "there are " + nameList(all);
      const std::vector<std::string_view> names(all.begin(), all.end());
      if (auto near = nearestName(name, names); !near.empty())
        hint = "did you mean " + std::string(near) + "?";
      throw Failure(TSR_ENOTFOUND, "E_MAPPER_UNKNOWN", "there is no mapper '" + name + "': " + why, hint);
    }
    tsr_status_t status = TSR_EINVAL;
    auto made = mapping::make(plugin->info.mapper, spec.arguments.text, status, why, plugin);
    if (!made)
      throw Failure(status, "E_MAPPER_FAILED", "mapper '" + name + "' cannot be made: " + why,
                    "see what " + (plugin->path.empty() ? name : plugin->path) + " takes in parentheses");
    beforeShutdown(letGoOfMappers);
    return made;
  }

  const std::string &whole_;
};

} // namespace

std::unique_ptr<Mapper> makeMapper(const std::string &spec, Failure &failure) {
  try {
    return Maker(spec).make({spec, 0});
  } catch (const Failure &f) {
    failure = f;
  }
  return nullptr;
}

const tessera::Mappers &mappers() {
  class Component final : public tessera::Mappers {
    tsr_status_t decideVariants(std::string_view source, CompileOptions &options,
                                std::vector<Diagnostic> &diags) const override {
      return mapping::decideVariants(source, options, diags);
    }
    bool isBuiltin(std::string_view name) const override {
      return std::find(std::begin(kBuiltins), std::end(kBuiltins), name) != std::end(kBuiltins);
    }
    std::unique_ptr<AlgorithmChoices> makeAlgorithmChoices() const override {
      return mapping::makeAlgorithmChoices();
    }
  };
  static constinit const Component component;
  return component;
}

} // namespace tessera::mapping
