// The interfaces of Kernels.c as an AMD code object; the code itself is not executed.
.amdgcn_target "amdgcn-amd-amdhsa--gfx90a"
.amdhsa_code_object_version 5

.macro kernel name, lds
.text
.globl \name
.p2align 8
.type \name, @function
\name:
  s_endpgm
.rodata
.p2align 6
.amdhsa_kernel \name
  .amdhsa_group_segment_fixed_size \lds
  .amdhsa_next_free_vgpr 32
  .amdhsa_next_free_sgpr 16
  .amdhsa_accum_offset 32
.end_amdhsa_kernel
.endm
kernel tsr_kernel_axpy, 0
kernel tsr_kernel_total, 1024
kernel tsr_kernel_dynamic, 0

.amdgpu_metadata
amdhsa.version: [1, 2]
amdhsa.target: amdgcn-amd-amdhsa--gfx90a
amdhsa.kernels:
  - .name: tsr_kernel_axpy
    .symbol: tsr_kernel_axpy.kd
    .args:
      - {.offset: 0, .size: 8, .value_kind: global_buffer, .address_space: global}
      - {.offset: 8, .size: 8, .value_kind: global_buffer, .address_space: global}
      - {.offset: 16, .size: 4, .value_kind: by_value}
      - {.offset: 24, .size: 8, .value_kind: by_value}
      - {.offset: 32, .size: 4, .value_kind: hidden_block_count_x}
    .kernarg_segment_size: 288
    .kernarg_segment_align: 8
    .group_segment_fixed_size: 0
    .private_segment_fixed_size: 0
    .wavefront_size: 64
    .sgpr_count: 16
    .vgpr_count: 32
    .max_flat_workgroup_size: 64
    .reqd_workgroup_size: [64, 1, 1]
  - .name: tsr_kernel_total
    .symbol: tsr_kernel_total.kd
    .args:
      - {.offset: 0, .size: 8, .value_kind: global_buffer, .address_space: global}
      - {.offset: 8, .size: 8, .value_kind: global_buffer, .address_space: global}
      - {.offset: 16, .size: 8, .value_kind: global_buffer, .address_space: global}
    .kernarg_segment_size: 24
    .kernarg_segment_align: 8
    .group_segment_fixed_size: 1024
    .private_segment_fixed_size: 0
    .wavefront_size: 64
    .sgpr_count: 16
    .vgpr_count: 32
    .max_flat_workgroup_size: 32
    .reqd_workgroup_size: [32, 1, 1]
  - .name: tsr_kernel_dynamic
    .symbol: tsr_kernel_dynamic.kd
    .args:
      - {.offset: 0, .size: 8, .value_kind: global_buffer, .address_space: global}
      - {.offset: 8, .size: 4, .value_kind: hidden_dynamic_lds_size}
    .kernarg_segment_size: 264
    .kernarg_segment_align: 8
    .group_segment_fixed_size: 0
    .private_segment_fixed_size: 0
    .wavefront_size: 64
    .sgpr_count: 16
    .vgpr_count: 32
    .max_flat_workgroup_size: 32
    .reqd_workgroup_size: [32, 1, 1]
.end_amdgpu_metadata
