// probe: what the plugin reports before anything is created. Also runs without a device.
#include "tools/tsr-conformance/Groups.h"
#include "tools/tsr-conformance/Guarded.h"
#include "tools/tsr-conformance/Subject.h"
#include <chrono>

namespace tessera::kit {
namespace {

struct Answer {
  int32_t status;
  tsr_probe_t found{};
  thunk::Text why;
};

void askProbe(Subject &s, Answer &a) {
  a.found.struct_size = sizeof a.found;
  a.status = s.info().probe(&a.found, a.why);
}

void returns(Subject &s) {
  Answer a;
  askProbe(s, a);
  s.facts["devices"] = std::to_string(a.status == TSR_SUCCESS ? a.found.device_count : 0);
  s.facts["no_device"] = a.status == TSR_ENOTFOUND ? a.why.str() : "";
  s.facts["driver"] = std::string(a.found.driver, strnlen(a.found.driver, sizeof a.found.driver));
}

void answer(Subject &s) {
  Answer a;
  askProbe(s, a);
  if (a.status == TSR_ENOTFOUND) {
    expect(a.found.device_count == 0, "no device with TSR_ENOTFOUND", std::to_string(a.found.device_count));
    return;
  }
  s.must("probe", a.status, a.why);
  expect(a.found.device_count >= 1 && a.found.device_count <= 4096, "1 to 4096 devices with TSR_SUCCESS",
         std::to_string(a.found.device_count));
  expect(a.found.score >= 0 && a.found.score <= 1000, "a score of 0 to 1000", std::to_string(a.found.score));
  expect(memchr(a.found.driver, 0, sizeof a.found.driver), "a driver version that ends in NUL", "none");
  for (auto &address : a.found.pci) {
    expect(memchr(address, 0, sizeof address), "PCI addresses that end in NUL", "one without");
    unsigned domain, bus, device, function;
    expect(!*address || sscanf(address, "%4x:%2x:%2x.%1x", &domain, &bus, &device, &function) == 4,
           "PCI addresses as 0000:65:00.0, or \"\"", address);
  }
}

void reason(Subject &s) {
  Answer a;
  askProbe(s, a);
  if (a.status == TSR_SUCCESS) throw Skip{"there is a device"};
  expect(!a.why.str().empty(), "a reason why there is no device", "an empty text",
         "fill the caller's tsr_text_t");
}

void inTime(Subject &s) {
  const auto begin = std::chrono::steady_clock::now();
  Answer a;
  askProbe(s, a);
  const auto took = std::chrono::steady_clock::now() - begin;
  expect(took < std::chrono::seconds(2), "an answer within 2 s",
         std::to_string(std::chrono::duration_cast<std::chrono::milliseconds>(took).count()) + " ms");
}

void probeRepeats(Subject &s) {
  Answer a, b;
  askProbe(s, a), askProbe(s, b);
  expect(a.status == b.status && a.found.device_count == b.found.device_count &&
             a.found.score == b.found.score,
         "the same answer twice: " + statusName(a.status) + ", " + std::to_string(a.found.device_count) +
             " devices",
         statusName(b.status) + ", " + std::to_string(b.found.device_count) + " devices");
}

void probeInBounds(Subject &s) {
  for (size_t size : {size_t{8}, offsetof(tsr_probe_t, driver), offsetof(tsr_probe_t, pci) + 16,
                      sizeof(tsr_probe_t), sizeof(tsr_probe_t) + 64}) {
    Guarded out(size);
    out.as<tsr_probe_t>().struct_size = size;
    thunk::Text why;
    (void)s.info().probe(&out.as<tsr_probe_t>(), why);
    out.expectUntouched("probe", "write with tessera::thunk::copyOut");
  }
}

constexpr Check kProbeChecks[] = {
    {"probe.returns",
     "probe returns; it neither crashes, hangs nor ends the process.",
     returns,
     Needs::Slotted,
     {},
     {},
     5},
    {"probe.answer", "It says TSR_SUCCESS with devices and a score, or TSR_ENOTFOUND.", answer,
     Needs::Probed},
    {"probe.reason", "Without a device it says why.", reason, Needs::Probed},
    {"probe.in_time", "It answers within two seconds.", inTime, Needs::Probed},
    {"probe.repeats", "A second probe answers the same.", probeRepeats, Needs::Probed},
    {"probe.in_bounds", "It writes no byte past a tsr_probe_t of another size.", probeInBounds,
     Needs::Probed},
};

} // namespace

extern const Group kProbe = {"probe", TSR_PLUGIN_BACKEND, true, kProbeChecks};

} // namespace tessera::kit
