// A mock of NumericsProfile. By default it permits nothing, like a profile that overrides only its name.
#pragma once
#include <gmock/gmock.h>
#include <string>
#include <tessera/numerics.hpp>
#include <utility>

namespace tessera::fakes {

class MockNumericsProfile : public NumericsProfile {
public:
  explicit MockNumericsProfile(std::string name = "fake") : name_(std::move(name)) {
    ON_CALL(*this, name).WillByDefault([this] { return name_.c_str(); });
  }
  MOCK_METHOD(const char *, name, (), (const, override));
  MOCK_METHOD(bool, contraction, (), (const, override));
  MOCK_METHOD(bool, reassociation, (), (const, override));
  MOCK_METHOD(bool, approximate, (), (const, override));
  MOCK_METHOD(bool, reducedMultiply, (), (const, override));
  MOCK_METHOD(bool, unorderedAtomics, (), (const, override));
  MOCK_METHOD(bool, fixedReductions, (), (const, override));
  MOCK_METHOD(bool, frozenTunables, (), (const, override));

private:
  const std::string name_;
};

} // namespace tessera::fakes
