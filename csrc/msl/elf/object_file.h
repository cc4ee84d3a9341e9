// How symbols and sections are written in ELF.
#pragma once

// In assembly: a function's name as C has it, and that only its own file sees it.
#define MB_SYMBOL(name) #name
#define MB_HIDDEN(name) ".hidden " #name "\n.type " #name ",%function\n"

#define MB_DATA_SECTION(name) section(#name)
// Declares the ends of a section; both are null where it is absent.
#define MB_SECTION_ENDS(type, begin, end, name)                                         \
  [[gnu::weak, gnu::visibility("hidden")]] extern type begin[] asm("__start_" #name);   \
  [[gnu::weak, gnu::visibility("hidden")]] extern type end[] asm("__stop_" #name);
