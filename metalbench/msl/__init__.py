"""The MSL front end: Metal Shading Language in, a shared object for the `cpu` device out."""
