// The files of the tuner: which they are, and what is done with them without measuring.
#include "core/support/OutputFile.h"
#include "core/tuning/TunedFile.h"
#include "tools/tune/ExportRows.h"
#include "tools/tune/TuneRun.h"
#include <filesystem>
#include <fmt/format.h>

namespace tessera::tune {

MaybeError exportRows(TuneDatabase &database, const std::string &path, size_t &count) {
  if (path.empty()) return std::nullopt;
  Expected<std::vector<TunedRow>> rows = database.rows();
  if (!rows) return rows.error();
  count = rows->size();
  std::error_code ignored; // writing the file reports it
  std::filesystem::create_directories(std::filesystem::path(path).parent_path(), ignored);
  MaybeError error = writeFile(path, writeTuned(*rows));
  if (error) error->message = fmt::format("{}: {}", path, error->message);
  return error;
}

MaybeError chooseFiles(std::string &database, std::string &lookUp) {
  const bool isNamed = !database.empty();
  const std::string directory = tunedDirectory();
  if (!isNamed) database = directory.empty() ? "" : directory + "/tune.db";
  if (database.empty())
    return Error{"E_OPTION_VALUE", "there is no home directory for the database", "name it: --database FILE"};
  // A database of its own has a look-up file of its own.
  if (lookUp.empty())
    lookUp = isNamed ? std::filesystem::path(database).replace_extension(".tsrt").string() : tunedPath();
  if (lookUp == database)
    return Error{"E_OPTION_VALUE", fmt::format("{} would be the database and the look-up file", database),
                 "give one of them another name: --database FILE, --export=FILE"};
  return std::nullopt;
}

Expected<size_t> mergeDatabases(const std::vector<std::string> &files, const std::string &database,
                                const std::string &lookUp) {
  std::vector<TuneDatabase> sources;
  for (const std::string &file : files) {
    Expected<TuneDatabase> source = TuneDatabase::openToRead(file);
    if (!source) return source.error();
    sources.push_back(std::move(*source));
  }
  Expected<TuneDatabase> out = TuneDatabase::open(database);
  if (!out) return out.error();
  for (TuneDatabase &source : sources)
    if (MaybeError error = out->merge(source)) return *error;
  size_t count = 0;
  if (MaybeError error = exportRows(*out, lookUp, count)) return *error;
  return count;
}

Expected<size_t> exportChoices(const std::string &file, const std::string &lookUp) {
  Expected<TuneDatabase> database = TuneDatabase::open(file, true);
  if (!database) return database.error();
  if (MaybeError error = database->decide()) return *error; // a run may have been interrupted
  if (lookUp.empty())
    return Error{"E_OPTION_VALUE", "there is no look-up file to write: TESSERA_TUNED is off",
                 "name it: --export=FILE"};
  size_t count = 0;
  if (MaybeError error = exportRows(*database, lookUp, count)) return *error;
  return count;
}

Expected<std::vector<TuneDatabase::Choice>> readChoices(const std::string &file) {
  Expected<TuneDatabase> database = TuneDatabase::openToRead(file);
  if (!database) return database.error();
  return database->choices();
}

} // namespace tessera::tune
