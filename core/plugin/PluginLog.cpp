#include "core/plugin/PluginLog.h"
#include "core/config/Config.h"
#include "core/log/Log.h"
#include "core/support/Escaped.h"
#include <fcntl.h>
#include <unistd.h>

namespace tessera {

void pluginLog(const std::string &path, const std::string &text) {
  if (logs(TSR_LOG_DEBUG)) log(TSR_LOG_DEBUG, "D_PLUGIN", escaped(path + ": " + text));
  const std::string where = setting("TESSERA_PLUGIN_LOG").value;
  if (where.empty() || where == "0") return;
  // always one line, whatever the path contains
  const std::string line = "tessera: " + escaped(path + ": " + text) + "\n";
  int fd = where == "1" || where == "stderr"
               ? dup(2)
               : ::open(where.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NONBLOCK, 0644);
  if (fd < 0) return; // a log that cannot be opened, such as a pipe without a reader, is ignored
  (void)!write(fd, line.data(), line.size());
  close(fd);
}

} // namespace tessera
