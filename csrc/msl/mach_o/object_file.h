// How symbols and sections are written in Mach-O.
#pragma once

// In assembly: a function's name as C has it, and that only its own file sees it.
#define MB_SYMBOL(name) "_" #name
#define MB_HIDDEN(name) ".private_extern _" #name "\n"

#define MB_DATA_SECTION(name) section("__DATA," #name)
// Declares the ends of a section; they are the same where it is absent.
#define MB_SECTION_ENDS(type, begin, end, name)             \
  extern type begin[] asm("section$start$__DATA$" #name);   \
  extern type end[] asm("section$end$__DATA$" #name);
