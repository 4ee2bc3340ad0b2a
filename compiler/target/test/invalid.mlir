// RUN: tsr-opt %s -split-input-file -verify-diagnostics

target.module @m attributes {triple = ""} {
  // expected-error @+1 {{entry @missing is not in its module}}
  target.kernel_info "k" entry @missing metadata ""
}
