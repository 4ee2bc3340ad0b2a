/* A shared object without a manifest. */
int nothing(void) { return 0; }
