# Read by CTest before it runs a test: what the tests compile is compiled anew, and the user's cache stays as it is.
# Tests of the cache set a directory of their own.
set(ENV{TESSERA_CACHE_DIR} off)
# Nor does the user's configuration steer them.
set(ENV{TESSERA_CONFIG} off)
