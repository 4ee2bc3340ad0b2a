from tessera import runtime
runtime.select_backend("ptx")        # "rocm" | "level_zero" | "cpu"
