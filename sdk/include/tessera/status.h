/* The status that every call of Tessera's C interfaces returns. Shared by tessera.h and plugin.h. */
#ifndef TESSERA_STATUS_H
#define TESSERA_STATUS_H

typedef enum {
  TSR_SUCCESS = 0,
  TSR_EOOM = 1,          /* memory is exhausted, or the size could never be had */
  TSR_EINVAL = 2,        /* an argument is wrong; nothing was done */
  TSR_ETIMEOUT = 3,      /* the time given ran out; the work goes on */
  TSR_UNIMPLEMENTED = 4, /* right in itself, but this backend or build does not have it */
  TSR_ENOTFOUND = 5,     /* no such kernel, backend, device or library */
  TSR_ECOMPILE = 6,      /* the source text has errors: see the diagnostics */
  TSR_EDEVICE = 7,       /* the device or its driver failed */
  TSR_EIO = 8,           /* reading or writing a file failed */
  TSR_NOT_READY = 9,     /* no failure: the work asked about is still going on */
  TSR_EINTERNAL = 10     /* a fault of Tessera or of its compiler; please report it */
} tsr_status_t;

#endif
