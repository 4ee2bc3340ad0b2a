// The tensors of a call: where an argument's elements are, whatever object holds them.
#pragma once
#include "python/core/Types.h"

namespace tessera::python {

constexpr int kMaxRank = 8;

/// The type of a context's device, as DLPack numbers them.
int32_t deviceTypeOf(const Context &);

/// A view of an argument's elements, which holds the object's memory in place until release().
struct Tensor {
  enum Held : uint8_t { Nothing, View, Capsule };
  Held held = Nothing;
  TypeKind kind;
  bool isReadOnly, isHost, isContiguous;
  bool isShared; // others may read, write or free the memory after a call returns
  int dtype, rank;
  void *data;
  Context *context;                           // of a ts.Array; else null
  int32_t deviceType, deviceId;               // as DLPack numbers them
  int64_t bytes;                              // from the first to the last element, 0 if it has none
  int64_t shape[kMaxRank], strides[kMaxRank]; // in elements
  Py_buffer buffer;
  void *managed; // Capsule: the DLPack struct
  bool isVersioned;
  // In whose order the memory is, for tensors of other libraries on a device:
  const dlpack::Exchange *streams; // of the current stream of the library with this table; null: not of one
  bool isOrdered;                  // of its device's default stream
  const dlpack::Exchange *seen;    // the table whose view this is, which does not say whether it is read-only

  Tensor() {}
  ~Tensor() {
    if (held && ownsPython()) release();
  }
  Tensor(const Tensor &) = delete;
  Tensor &operator=(const Tensor &) = delete;
  void release();
  /// Moves what this holds of `object`, which was read, to an object that lives as long as the memory has to.
  /// Null after raising: its library does not export it, or has given it other memory since.
  PyObject *hold(PyObject *object, const char *name);

  /// Reads `object`, which is of `type`. `name` is what errors call it. Returns false after raising.
  bool read(PyObject *object, ArgumentType &type, const char *name);
  /// Reads it from a DLPack capsule, which holds the memory.
  bool readExported(PyObject *object, ArgumentType &type, const char *name);
  /// Finds out whether `object`, which was read, is read-only if that is not known yet. Returns false after
  /// raising.
  bool askReadOnly(PyObject *object, const char *name);
  /// Can kernels of that context access the elements?
  bool isOn(const Context &) const;
  /// Is it an array of the process that forked this one? A process has one context for a backend.
  bool isOfParent(const Context &) const;
  /// What errors call the memory that the elements are in.
  std::string place() const;
  /// "f32[3, 64]"
  std::string describe() const;

  /// Is a byte an element of both? Also true where that takes too long to find out.
  bool sharesMemory(const Tensor &) const;
  /// May two elements be at the same place?
  bool overlapsItself() const;

private:
  bool readBuffer(PyObject *object, ArgumentType &type, const char *name);
  /// Checks what the kinds of tensors have in common.
  bool finish(const char *name);

  // --- FromDLPack.cpp ---
  bool readDLPack(PyObject *object, ArgumentType &type, const char *name);
  /// Ways that are faster than a capsule. They return false or Other, without raising, for what is no plain
  /// tensor of the host: its capsule says what it is.
  bool readAttributes(PyObject *object);
  enum class Reading { Done, Raised, Other };
  Reading readExchange(PyObject *object, const dlpack::Exchange &exchange, const char *name);
  /// Takes over the tensor of a capsule, which must not have been used.
  bool takeCapsule(PyObject *capsule, const char *name);
  bool take(const dlpack::Tensor &, const char *name);
};

/// The name that ml_dtypes has for a dtype which NumPy lacks; null: it has none.
const char *addedName(int dtype);

struct NativeStreams;
/// __dlpack__() of an object of that type: a capsule, whose memory is ready in the order of the default
/// stream if `native` is not null. Null after raising.
Ref exportOf(PyObject *object, ArgumentType &type, const NativeStreams *native);
/// For a tensor that its library does not export, as one that requires grad or is sparse: raises with the
/// library's reason, and returns false.
bool refuseExport(const char *code, const char *name);

} // namespace tessera::python
