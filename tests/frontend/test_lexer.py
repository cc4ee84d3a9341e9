from hypothesis import given
from hypothesis import strategies as st

from metalbench.msl.frontend.tokens import lex, split_source

WORDS = "a x1 0x1Fu 1.5e-3h .5f <<= > >> -> :: [[ ]] 'c' ( ) { } ... 1'000"
LONG = ['"s\\"t"', "// end\n", "/* in\nside */", '# 3 "f.h"\n', "\n", " ", "\t"]
FRAGMENTS = st.sampled_from(WORDS.split() + LONG)


@given(st.lists(FRAGMENTS).map("".join) | st.text())
def test_split_source_keeps_all_text(text):
    assert "".join(split_source(text)) == text


@given(st.lists(FRAGMENTS).map("".join))
def test_lex_returns_offsets_of_tokens(text):
    tokens = lex(text)
    for index, word in enumerate(tokens.text):
        assert text[tokens.start[index] : tokens.end(index)] == word


def test_lex_skips_comments_space_and_directives():
    tokens = lex("a /* b */ // c\n#pragma unroll\n  d")
    assert tokens.text == ["a", "d"]


def test_lex_splits_closing_angles():
    assert lex("vec<vec<T>>(a >= b >> c)").text[5:8] == [">", ">", "("]
    assert ">=" in lex("a >= b").text


def test_lex_keeps_numbers_whole():
    assert lex("1.0e-5f+0x1p-2h 5.0bf 1'000u").text == [
        "1.0e-5f",
        "+",
        "0x1p-2h",
        "5.0bf",
        "1'000u",
    ]


def test_lex_hides_brackets_in_strings():
    tokens = lex("f(\"( [\", '{')")
    assert tokens.is_balanced
    assert tokens.text == ["f", "(", '"( ["', ",", "'{'", ")"]


def test_locate_token_follows_line_markers():
    tokens = lex('# 1 "a.metal"\nint x;\n# 7 "dir/b \\"q\\".h" 1\n\n  float y;\n# 3 "a.metal" 2\nz')
    where = {text: tokens.locate_token(index) for index, text in enumerate(tokens.text)}
    assert where["x"] == ("a.metal", 1, 5)
    assert where["y"] == ('dir/b "q".h', 8, 9)
    assert where["z"] == ("a.metal", 3, 1)


def test_partner_matches_brackets():
    tokens = lex("f(a[1], {b})")
    assert tokens.partner[1] == len(tokens) - 1
    assert tokens.partner[tokens.text.index("[")] == tokens.text.index("]")


def test_is_balanced_detects_stray_brackets():
    assert not lex("f(a]").is_balanced
    assert not lex("f(a").is_balanced
    assert lex("f(a)").is_balanced
