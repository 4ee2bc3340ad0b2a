// One call of a mapper's hook as text: for errors, for the log of decisions, and as the key in that log.
#pragma once
#include <string>
#include <tessera/mapper.hpp>
#include <vector>

namespace tessera::mapping {

struct Question {
  std::string call;  // "choose_variant"
  std::string about; // "op=matmul arch=cpu:znver3 dtype=f32 M=96 N=64 K=?"; equal: the same question
  // for a variant, the default comes first; the other questions have no default
  std::vector<std::string> legal;
  bool hasDefault = true; // legal.front() is the default

  std::string text() const { return call + "(" + about + ")"; }
};

Question question(const Mapper::Region &, const Mapper::Mesh &);
Question question(const Mapper::CollectiveCall &);
Question question(const Mapper::VariantCall &);

/// Joins names: "tile, blas".
std::string list(const std::vector<std::string> &names);

/// Quotes external text for a message: at most 80 characters, control characters and bytes above 126 as \xNN.
std::string quoted(std::string_view text);

} // namespace tessera::mapping
