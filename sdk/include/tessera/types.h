/* Enumerations shared by Tessera's C interfaces. Their values never change. Included by tessera.h and
 * plugin.h. */
#ifndef TESSERA_TYPES_H
#define TESSERA_TYPES_H

/* Storage types of elements. Bundles use the same numbers. fp6, fp4 and bool use one byte each, tf32 four
 * bytes. Two elements of i4 and u4 share a byte: element L, counted with the tensor's strides, is in byte L /
 * 2, an even one in its low four bits. */
typedef enum {
  TSR_DTYPE_F64 = 0,
  TSR_DTYPE_F32 = 1,
  TSR_DTYPE_F16 = 2,
  TSR_DTYPE_BF16 = 3,
  TSR_DTYPE_TF32 = 4,
  TSR_DTYPE_FP8_E4M3 = 5,
  TSR_DTYPE_FP8_E5M2 = 6,
  TSR_DTYPE_FP6_E2M3 = 7,
  TSR_DTYPE_FP6_E3M2 = 8,
  TSR_DTYPE_FP4_E2M1 = 9,
  TSR_DTYPE_I64 = 10,
  TSR_DTYPE_I32 = 11,
  TSR_DTYPE_I16 = 12,
  TSR_DTYPE_I8 = 13,
  TSR_DTYPE_U8 = 14,
  TSR_DTYPE_BOOL = 15,
  TSR_DTYPE_U16 = 16, /* from here on appended in 1.4 */
  TSR_DTYPE_U32 = 17,
  TSR_DTYPE_U64 = 18,
  TSR_DTYPE_I4 = 19,
  TSR_DTYPE_U4 = 20
} tsr_dtype_t;

/* The operation by which a collective combines elements; docs/collectives.md defines it for every dtype. */
typedef enum {
  TSR_REDUCE_SUM = 0,
  TSR_REDUCE_MAX = 1,
  TSR_REDUCE_MIN = 2,
  TSR_REDUCE_PROD = 3
} tsr_reduce_op_t;

typedef enum {
  TSR_ALL_REDUCE = 0,
  TSR_BROADCAST = 1,
  TSR_ALL_GATHER = 2,
  TSR_REDUCE_SCATTER = 3,
  TSR_ALL_TO_ALL = 4, /* from here on appended in 1.4 */
  TSR_SEND = 5,
  TSR_RECV = 6
} tsr_collective_kind_t;

#endif
