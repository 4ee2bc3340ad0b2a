# CTest reads this before it runs a test: tests do not use or change the user's cache of compiled code.
# Tests of the cache set a directory of their own.
set(ENV{TESSERA_CACHE_DIR} off)
# Nor the user's tuned configurations.
set(ENV{TESSERA_TUNED} off)
# Nor does the user's configuration steer them.
set(ENV{TESSERA_CONFIG} off)
