class MyMapper(tessera.Mapper):
    def place(self, region, mesh):
        if region.axis == "tp":
            return "local_switch"
    def choose_collective(self, kind, size):
        return "sharp_ring" if size <= 72 else "tree"
    def choose_variant(self, op, arch):
        return "tile_ir" if arch.is_blackwell else "ptx"

tessera.runtime.set_mapper(MyMapper())
