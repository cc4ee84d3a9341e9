#include <mach/vm_page_size.h>

// Of Macs with a GPU of Apple's, whatever the pages of this machine are.
vm_size_t vm_page_size = 16 * 1024;
