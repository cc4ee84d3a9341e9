import pytest

from metalbench.msl.frontend.declarations import iterate_declarations, parse_declarations
from metalbench.msl.frontend.tokens import find_closing_angle, lex


def list_declarations(text):
    return [(each.kind, each.qualified_name) for each in parse_declarations(lex(text))]


@pytest.mark.parametrize(
    "header",
    [
        "<class T, enable_if_t<sizeof(T) < 8, bool> = true>",
        "<int N, enable_if_t<N < 8, bool> = true>",
        "<typename T, typename = enable_if_t<is_same_v<T, vec<half, 4>>>>",
        "<template <typename> class C, int N = (4 > 2)>",
    ],
)
def test_parse_declarations_finds_the_end_of_template_headers(header):
    tokens = lex(f"template {header} void f(T x) {{ }}")
    close = find_closing_angle(tokens, 1, len(tokens))
    assert tokens.text[close + 1 : close + 3] == ["void", "f"]


def test_parse_declarations_flattens_namespaces():
    text = (
        "namespace a { namespace b { int f() { return 1; } } inline namespace c::d { int x = 2; } }"
    )
    assert list_declarations(text) == [("function", "a::b::f"), ("variable", "a::c::d::x")]


def test_parse_declarations_distinguishes_kinds():
    text = """
    using namespace metal; typedef float T; using V = float4;
    struct S { int a; S(int b) : a{b} {} int f() const { return a; } };
    constant float table[2] = {1, 2};
    template <typename T> constexpr constant bool is_x_v = false;
    template <> constexpr constant bool is_x_v<half> = true;
    float4 operator+(float4 a, S b) { return a; }
    enum class E : uint { a, b };
    template decltype(f<int>) f<int>;
    """
    assert [kind for kind, _ in list_declarations(text)] == [
        "alias", "alias", "alias", "record", "variable", "variable", "variable", "function",
        "record", "instantiation",
    ]  # fmt: skip


def test_parse_declarations_puts_members_into_records():
    record = parse_declarations(
        lex("struct S { S() = default; int operator()(int i) const { return i; } };")
    )[0]
    assert [(each.kind, each.name) for each in record.members] == [
        ("function", "S"),
        ("function", "operator()"),
    ]
    assert all(each.in_record for each in record.members)


def test_parse_declarations_skips_braced_initialisers_of_constructors():
    text = "struct S { int a; float b; S(int c) : a{c}, b(1) { a = 2; } int g; };"
    members = parse_declarations(lex(text))[0].members
    assert [each.name for each in members] == ["a", "b", "S", "g"]


def test_parse_declarations_keeps_specialisation_arguments():
    tokens = lex(
        "template <typename T> struct P<device T*> { }; template <> void f<float, 2>(int a) {}"
    )
    record, function = parse_declarations(tokens)
    assert tokens.join(*record.specialisation_arguments) == "device T*"
    assert tokens.join(*function.specialisation_arguments) == "float, 2"
    assert function.template == []


def test_parse_declarations_finds_attributes_in_heads_only():
    tokens = lex('[[host_name("k")]] [[kernel]] void f(device int* a [[buffer(0)]]) { }')
    assert [each.name for each in parse_declarations(tokens)[0].attributes] == [
        "host_name",
        "kernel",
    ]


def test_parse_declarations_leaves_no_gaps():
    tokens = lex("struct A { int x; } a; int f(); void g() { if (1) { } } constant int k = 2;")
    listed = parse_declarations(tokens)
    assert [each.first for each in listed[1:]] == [each.last for each in listed[:-1]]
    assert listed[-1].last == len(tokens)
    assert len(list(iterate_declarations(listed))) == len(listed) + 1
