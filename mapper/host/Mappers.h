// The mappers that come with Tessera, and how a mapper is made from its spec.
//
//   default             chooses nothing: every call takes its default
//   random(seed)        one of the legal answers, which depends on the seed and the question alone
//   logging(M[, FILE])  M's answers, written to FILE (tessera-decisions.yaml) as they come
//   replay(FILE)        the answers in FILE; a question that FILE does not contain is an error
//   anything else       a plugin of kind mapper, made with the text in its parentheses
#pragma once
#include "core/plugin/Mappers.h"
#include "mapper/host/Failure.h"
#include "mapper/host/Spec.h"
#include <memory>
#include <tessera/mapper.hpp>

namespace tessera::mapping {

/// Returns what core asks of this component.
const tessera::Mappers &mappers();

/// Makes the mapper that `spec` describes. Returns null and fills `failure` on an error: E_MAPPER_SPEC with
/// the position in the text, E_MAPPER_UNKNOWN, E_MAPPER_FAILED, E_MAPPER_REPLAY, E_MAPPER_LOG.
std::unique_ptr<Mapper> makeMapper(const std::string &spec, Failure &failure);

std::unique_ptr<Mapper> makeRandom(uint64_t seed);
/// Reads the file immediately. Throws Failure.
std::unique_ptr<Mapper> makeReplay(const std::string &file);
/// Writes the file immediately, so that a path that cannot be written to is reported before any work. Throws
/// Failure.
std::unique_ptr<Mapper> makeLogging(std::unique_ptr<Mapper> inner, const std::string &file);

} // namespace tessera::mapping
