#include "core/cache/Signatures.h"
#include <bit>
#include <type_traits>

namespace tessera::cache {
namespace {

/// One description of the fields is used for reading and writing.
template <class Io, class S> void fields(Io &io, S &s) {
  io(s.kernel), io(s.isGraphFunction);
  io.each(s.params, [&](auto &p) {
    io(p.name), io(p.isTensor), io(p.isResult), io(p.reads), io(p.writes), io(p.dtype);
    io.each(p.dims, [&](auto &dim) { io(dim); });
    io.each(p.strides, [&](auto &stride) { io(stride); });
    io(p.defaultValue);
  });
  io.each(s.dims, [&](auto &dim) { io(dim); });
  io.each(s.tunables, [&](auto &t) {
    io(t.first);
    io.each(t.second, [&](auto &v) { io(v); });
  });
}

template <class Io, class D> void definitionFields(Io &io, D &d) {
  io(d.name), io.number(d.bytes);
  io.each(d.names, [&](auto &name) { io(name.name), io.number(name.line), io.number(name.col); });
  io.each(d.returns, [&](auto &name) { io(name); });
}

struct Writer {
  std::string out;
  void number(uint64_t v) { raw(v); }
  void raw(uint64_t v) { out.append(reinterpret_cast<const char *>(&v), sizeof v); }
  void operator()(const std::string &s) { raw(s.size()), out += s; }
  void operator()(bool b) { raw(b); }
  void operator()(int64_t v) { raw(static_cast<uint64_t>(v)); }
  void operator()(const std::optional<Number> &v) {
    raw(v ? v->index() + 1 : 0);
    if (v) raw(std::visit([](auto number) { return std::bit_cast<uint64_t>(number); }, *v));
  }
  template <class List, class Body> void each(const List &list, Body body) {
    raw(list.size());
    for (const auto &item : list)
      body(item);
  }
};

struct Reader {
  std::string_view in;
  bool ok = true;
  uint64_t raw() {
    uint64_t v = 0;
    if (in.size() < sizeof v) return ok = false, 0;
    in.copy(reinterpret_cast<char *>(&v), sizeof v);
    in.remove_prefix(sizeof v);
    return v;
  }
  template <class T> void number(T &v) { v = static_cast<T>(raw()); }
  void operator()(std::string &s) {
    const uint64_t n = raw();
    if (n > in.size()) return void(ok = false);
    s = in.substr(0, n);
    in.remove_prefix(n);
  }
  void operator()(bool &b) { b = raw() != 0; }
  void operator()(int64_t &v) { v = static_cast<int64_t>(raw()); }
  void operator()(std::optional<Number> &v) {
    const uint64_t kind = raw();
    if (!kind) return v.reset();
    const uint64_t bits = raw();
    v = kind == 1 ? Number(std::bit_cast<int64_t>(bits)) : Number(std::bit_cast<double>(bits));
  }
  template <class List, class Body> void each(List &list, Body body) {
    for (uint64_t n = raw(); ok && n; --n)
      body(list.emplace_back());
  }
};

} // namespace

std::string writeSignatures(const std::vector<Signature> &signatures) {
  Writer io;
  io.each(signatures, [&](const Signature &s) { fields(io, s); });
  return std::move(io.out);
}

bool readSignatures(std::string_view bytes, std::vector<Signature> &out) {
  Reader io{bytes};
  out.clear();
  io.each(out, [&](Signature &s) { fields(io, s); });
  return io.ok && io.in.empty();
}

std::string writeDefinition(const Definition &d) {
  Writer io;
  definitionFields(io, d);
  return std::move(io.out);
}

bool readDefinition(std::string_view bytes, Definition &out) {
  Reader io{bytes};
  out = {};
  definitionFields(io, out);
  return io.ok && io.in.empty();
}

} // namespace tessera::cache
