"""LLVM IR as data: read from clang's text, with its control flow."""
