// The commands. Each gets the words behind its name and returns the exit status.
#pragma once
#include <span>
#include <string>

namespace tessera::cli {

int runCommand(std::span<char *const> words, const std::string &commandLine);
int compileCommand(std::span<char *const> words, const std::string &commandLine);
int backendsCommand(std::span<char *const> words);
int explainCommand(std::span<char *const> words);
int versionCommand(std::span<char *const> words);

} // namespace tessera::cli
