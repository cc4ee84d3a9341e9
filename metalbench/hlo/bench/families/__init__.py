"""One file a family; each has PROGRAMS, by name a function and the shapes that it takes."""
