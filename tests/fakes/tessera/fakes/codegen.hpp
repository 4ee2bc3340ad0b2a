// A mock of Codegen. By default it has one target, "NAME:v1", a generic x86-64 processor, and its image is
// the IR that it receives.
#pragma once
#include <gmock/gmock.h>
#include <tessera/codegen.hpp>
#include <vector>

namespace tessera::fakes {

class MockCodegen : public Codegen {
public:
  MockCodegen() : rows{{.architecture = "v1", .triple = "x86_64-unknown-linux-gnu", .cpu = "x86-64-v3"}} {
    ON_CALL(*this, targets).WillByDefault([this] { return std::span<const CodegenTarget>(rows); });
    ON_CALL(*this, compile).WillByDefault([](const CodegenInput &in, CodegenOutput &out) {
      out.image(in.ir);
    });
  }
  MOCK_METHOD(std::span<const CodegenTarget>, targets, (), (const, override));
  MOCK_METHOD(void, compile, (const CodegenInput &, CodegenOutput &), (override));

  std::vector<CodegenTarget> rows; // the default result of targets()
};

} // namespace tessera::fakes
