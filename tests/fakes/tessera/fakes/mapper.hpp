// A mock of Mapper. By default it chooses nothing, which leaves each choice to the runtime.
#pragma once
#include <gmock/gmock.h>
#include <tessera/mapper.hpp>

namespace tessera::fakes {

/// One object answers all questions, however often the runtime makes a mapper of the plugin.
class MockMapper : public Mapper {
public:
  /// Called when the runtime makes a mapper of the plugin, with the text in the parentheses of
  /// TESSERA_MAPPER=name(arguments). Throwing refuses the arguments.
  MOCK_METHOD(void, create, (const std::string &arguments));
  MOCK_METHOD(Choice, place, (const Region &, const Mesh &), (override));
  MOCK_METHOD(Choice, chooseCollective, (const CollectiveCall &), (override));
  MOCK_METHOD(Choice, chooseVariant, (const VariantCall &), (override));
};

} // namespace tessera::fakes
