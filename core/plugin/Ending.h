// The end of the process for plugins: the library releases its references to their objects, then shuts down
// each plugin that has no live object.
#pragma once

namespace tessera {

/// Adds a function that releases objects of plugins. Adding the same function again has no effect. The
/// function runs when the process ends, before any plugin's shutdown, and may run more than once.
void beforeShutdown(void (*letGo)());

/// Runs all functions added by beforeShutdown(). Called before plugins are shut down.
void letGoOfPluginObjects();

} // namespace tessera
