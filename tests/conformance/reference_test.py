"""The reference interpreter against values that were written by hand: those of the family `effects`."""
import unittest

import numpy as np

import effects
import reference


class ReferenceTest(unittest.TestCase):
    def test_effects(self):
        for p in effects.programs():
            # The interpreter runs kernels of lanes, without atomics.
            if p.error or "atomic" in p.source or "linear_id" not in p.source:
                continue
            names, module = reference.load(p.source)
            for run in p.runs:
                tensors = [reference.Tensor(o.dtype, np.array(o.initial, reference.NUMPY[o.dtype])) for o in run.outputs.values()]
                scalars = [reference.V("i32", np.int32(v)) for v in run.scalars.values()]
                for module.lane in range(run.dims["n"]):
                    names["k"](*tensors, *scalars)
                for (name, o), tensor in zip(run.outputs.items(), tensors):
                    np.testing.assert_array_equal(tensor.a, o.values, f"{p.name} {name}")

    def test_rejection_inside_a_choice(self):
        def rejected():
            raise reference.Rejected
        with self.assertRaises(reference.Rejected):
            reference._choose(True, lambda: 1, rejected)
        self.assertIsNone(reference.Tensor.undo)

    def test_sum_of_negative_zeros(self):
        zeros = reference.V("f32", np.full((4, 8), -0.0, "f4"))
        for result in (reference._reduce(np.sum)(zeros), reference._reduce(np.sum)(zeros, 0)):
            self.assertTrue(np.all(np.signbit(result.a)))
        self.assertEqual(reference._reduce(np.sum)(reference.V("i32", np.arange(4, dtype="i4"))).a, 6)


if __name__ == "__main__":
    unittest.main()
