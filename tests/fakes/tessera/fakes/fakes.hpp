// GoogleMock fakes of all kinds of plugins. docs/extending/test-with-fakes.md explains how to use them.
#pragma once
#include <tessera/fakes/backend.hpp>
#include <tessera/fakes/codegen.hpp>
#include <tessera/fakes/collective.hpp>
#include <tessera/fakes/mapper.hpp>
#include <tessera/fakes/numerics.hpp>
#include <tessera/fakes/plugin.hpp>
