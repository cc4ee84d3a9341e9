"""Sources of what Metal has, though it is near to what it has not."""

from escapes.host_code import KERNEL, kernel

TAKEN: dict[str, str] = {
    "a kernel with C linkage": f'extern "C" {KERNEL} {{ x[i] = 2; }}',
    "deleted functions and an explicit instantiation": kernel(
        "S s; x[i] = twice<float>(s.a);",
        "struct S { float a = 1; S() = default; S(const thread S&) = delete; };\n"
        "template <typename T> T twice(T a) { return a + a; }\n"
        "template float twice<float>(float);",
    ),
    "harmless attributes": kernel(
        "alignas(16) float a[4] = {2}; x[i] = f(a);",
        "[[clang::always_inline]] inline float f(thread float* a) { return a[0]; }\n"
        "__attribute__((noinline, unused)) static float g() { return 1; }",
    ),
    "pragmas": kernel(
        "float s = 0;\n#pragma unroll(2)\nfor (int j = 0; j < 2; ++j) s += 1;\n"
        "#pragma clang loop unroll(full)\nfor (int j = 0; j < 2; ++j) s += 0;\nx[i] = s;",
        "#pragma METAL fp math_mode(safe)\n#pragma mark - sums\n#pragma unused(x)\n"
        "#pragma omp parallel for\n"
        '#pragma clang diagnostic ignored "-Wall"',
    ),
    "assertions": kernel("assert(i == 0);\nx[i] = 2;", "#include <metal_assert>"),
    "builtins": kernel(
        "x[i] = __builtin_popcount(3u) + (__builtin_expect(i < 9, 1) ? 0.0f : __builtin_inff());"
    ),
    "constants": kernel(
        "static constexpr constant float own = 1; x[i] = own + t[i % 2] + S::middle - 0.5f;",
        "constant float t[2] = {1, 1};\nconstexpr constant int zero = 0;\n"
        "struct S { static constexpr constant float middle = 0.5f; };",
    ),
    "recursion": kernel(
        "x[i] = sum(1);", "static float sum(int n) { return n ? 1 + sum(n - 1) : 1; }"
    ),
    "lambdas": kernel("auto f = [&](float a) { return a + 1; };\nx[i] = f(1);"),
    "variables with near names": kernel(
        "int mb = 1, mb_size = 1, news = 0, asm_ = 0; x[i] = mb + mb_size + news + asm_;"
    ),
    "members and parameters called mb": kernel(
        "S s; x[i] = twice(s.mb) + S::mb2 - 1;",
        "namespace n { struct mb { float a; }; }\nnamespace q = n;\n"
        "struct S { float mb = 1; static constexpr constant int mb2 = 1; };\n"
        "float twice(float mb) { return mb ? mb + mb : mb; }",
    ),
    "texts with names of the host's functions": kernel(
        "x[i] = s[1] == 'w' ? 2 : 0;", 'constant char s[] = "@write @\\01_write @snprintf";'
    ),
    "functions by the names of the host's": kernel(
        "x[i] = write(1) + memset(1);",
        "float write(float a) { return a; }\nfloat memset(float a) { return a; }",
    ),
    "a kernel with C linkage behind an attribute": (
        f'extern "C" [[kernel]] {KERNEL.removeprefix("kernel ")} {{ x[i] = 2; }}'
    ),
    "asking for headers": kernel(
        "x[i] = 2;",
        "#if __has_include(<metal_stdlib>) && !__has_include(<metal_none>)\n"
        "#include <metal_stdlib>\n#else\n#error asked\n#endif",
    ),
}
