// ts.Event: a point in a stream's order.
#pragma once
#include "python/core/Stream.h"

namespace tessera::python {

/// Stream.record(event) and Stream.wait(event). `event` None: a new one. Null after raising.
PyObject *recordOn(Stream &, PyObject *event);
PyObject *makeWait(Stream &, PyObject *event);

} // namespace tessera::python
