// The double's compiler, which only keeps the text, and what it loads in place of it.
#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "double.h"

using namespace cuda_double;

namespace {

struct LinkOf {
  std::string image, failure;
  char* log = nullptr;
};

std::string without_threads(const std::string& ptx, unsigned& threads, unsigned& blocks) {
  const std::size_t at = ptx.find("\n.maxntid ");
  if (at == std::string::npos) return ptx;
  threads = std::strtoul(ptx.c_str() + at + 10, nullptr, 10);
  const std::size_t room = ptx.find(".minnctapersm ", at), end = ptx.find('\n', at + 1);
  if (room < end) blocks = std::strtoul(ptx.c_str() + room + 14, nullptr, 10);
  return ptx.substr(0, at) + ptx.substr(ptx.find('\n', at + 1));
}

std::string digest(const std::string& text) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const unsigned char c : text) hash = (hash ^ c) * 0x100000001b3;
  char name[32];
  std::snprintf(name, sizeof name, "%016lx", static_cast<unsigned long>(hash));
  return name;
}

}  // namespace

extern "C" {

int cuLinkCreate_v2(unsigned count, int* options, void** values, LinkOf** link) {
  BEGIN;
  *link = new LinkOf;
  for (unsigned i = 0; i < count; ++i)
    if (options[i] == 5) (*link)->log = static_cast<char*>(values[i]);
  born("link", *link);
  return ok;
}
int cuLinkAddData_v2(LinkOf* link, int kind, void* data, std::size_t, const char*, unsigned, int*, void**) {
  if (const int failed = begin(__func__); failed != ok) {
    if (failed == invalid_ptx) std::strcpy(link->log, "ptxas of the double: line 7: no such thing");
    return failed;
  }
  if (kind != 1) return invalid;
  link->image = std::string("CUBIN ") + static_cast<const char*>(data);
  return ok;
}
int cuLinkComplete(LinkOf* link, void** image, std::size_t* size) {
  BEGIN;
  *image = link->image.data();
  *size = link->image.size();
  return ok;
}
int cuLinkDestroy(LinkOf* link) {
  BEGIN;
  if (gone("link", link) != ok) return invalid;
  delete link;
  return ok;
}

int cuModuleLoadData(ModuleOf** made, const void* image) {
  BEGIN;
  const std::string text = static_cast<const char*>(image);
  if (text.rfind("CUBIN ", 0) != 0) return no_binary;
  auto module = std::make_unique<ModuleOf>();
  const std::string ptx = without_threads(text.substr(6), module->threads, module->blocks);
  if (ptx.find("mb_info") != std::string::npos) {
    const std::string path = std::string(std::getenv("CUDA_DOUBLE_KERNELS")) + "/" + digest(ptx) + ".so";
    module->library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (module->library == nullptr) {
      std::fprintf(stderr, "double of libcuda: %s\n", dlerror());
      return no_binary;
    }
    module->entry = reinterpret_cast<Entry>(dlsym(module->library, "mb_run_group"));
  }
  *made = module.release();
  born("module", *made);
  return ok;
}
int cuModuleUnload(ModuleOf* module) {
  BEGIN;
  flush();
  if (gone("module", module) != ok) return invalid;
  delete module;
  return ok;
}
int cuModuleGetFunction(ModuleOf** function, ModuleOf* module, const char* name) {
  BEGIN;
  *function = module;
  return std::strcmp(name, "mb_entry") == 0 ? ok : invalid;
}
// Registers are those of CUDA_DOUBLE_REGISTERS, or as many as were asked to fit; what is spilled for
// it is a word for each. Nothing without it.
int cuFuncGetAttribute(int* value, int attribute, ModuleOf* module) {
  BEGIN;
  const char* given = std::getenv("CUDA_DOUBLE_REGISTERS");
  const int wanted = given == nullptr ? 0 : std::atoi(given);
  const int fit = module->blocks == 0 ? wanted : 65536 / int(module->blocks * module->threads);
  const int registers = fit < wanted ? fit : wanted;
  *value = attribute == 4 ? registers : attribute == 3 ? 4 * (wanted - registers) : 0;
  return ok;
}
// Its kernels have no product of warpgroups, which alone needs more memory than the default.
int cuFuncSetAttribute(ModuleOf*, int, int) { return invalid; }
}
