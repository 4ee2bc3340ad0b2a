// A plugin of two kinds for tests: a mapper and a numerics profile.
#include <tessera/mapper.hpp>
#include <tessera/numerics.hpp>
#include <tessera/plugin.hpp>

struct Careful : tessera::Mapper {
  explicit Careful(std::string_view) {}
};
struct Rules : tessera::NumericsProfile {
  const char *name() const override { return "rules"; }
};

TSR_PLUGIN(Careful, Rules);
