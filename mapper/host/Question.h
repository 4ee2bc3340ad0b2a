// One call of a mapper's hook in words: for errors, for the log of decisions, and to find it there again.
#pragma once
#include <string>
#include <tessera/mapper.hpp>
#include <vector>

namespace tessera::mapping {

struct Question {
  std::string call;  // "choose_variant"
  std::string about; // "op=matmul arch=cpu:znver3 dtype=f32 M=96 N=64 K=?"; equal: the same question
  std::vector<std::string> legal; // of a variant the default first; the others have none of these
  bool hasDefault = true;         // is legal.front() the default?

  std::string text() const { return call + "(" + about + ")"; }
};

Question question(const Mapper::Region &, const Mapper::Mesh &);
Question question(const Mapper::CollectiveCall &);
Question question(const Mapper::VariantCall &);

/// "tile, blas"
std::string list(const std::vector<std::string> &names);

/// Text from outside for a message: at most 80 characters, control characters and bytes above 126 as \xNN.
std::string quoted(std::string_view text);

} // namespace tessera::mapping
