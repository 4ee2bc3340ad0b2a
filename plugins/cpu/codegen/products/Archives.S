# The archives of all instruction levels, as Archive.cpp declares them.
.macro archive level
  .p2align 4
  .globl tessera_products_\level
  .hidden tessera_products_\level
tessera_products_\level:
  .incbin "\level\().a"
  .globl tessera_products_\level\()_end
  .hidden tessera_products_\level\()_end
tessera_products_\level\()_end:
.endm
.section .rodata
archive v3
archive v4
.section .note.GNU-stack,"",@progbits
