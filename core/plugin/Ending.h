// The end of the process as plugins see it: the library lets go of what it keeps of their objects, then each
// plugin without a live object is shut down.
#pragma once

namespace tessera {

/// Adds a function that lets go of objects of plugins; the same one counts once. It runs when the process
/// ends, before any plugin's shutdown, and may run more than once.
void beforeShutdown(void (*letGo)());

/// Runs them all; called by those who shut plugins down.
void letGoOfPluginObjects();

} // namespace tessera
