"""The source line of an instruction, by the metadata of its module."""

from __future__ import annotations

from metalbench.msl.ir.places import Metadata, Places, is_own

LINES = [
    "define void @f() !dbg !3 {",
    '!0 = !DIFile(filename: "user.metal", directory: "/")',
    '!1 = !DIFile(filename: "<metalbench>/mb/math.h", directory: "/")',
    '!2 = !DIFile(filename: "<metalbench>", directory: "/")',
    '!3 = distinct !DISubprogram(name: "entry", scope: !2, file: !2, line: 1, unit: !20)',
    '!4 = distinct !DISubprogram(name: "kernel", scope: !0, file: !0, line: 5, unit: !20)',
    '!5 = distinct !DISubprogram(name: "exp", scope: !1, file: !1, line: 9, unit: !20)',
    "!6 = distinct !DILexicalBlock(scope: !4, line: 6, column: 3)",
    "!7 = !DILocation(line: 1, scope: !3)",
    "!8 = !DILocation(line: 7, column: 12, scope: !6, inlinedAt: !7)",
    "!9 = !DILocation(line: 10, scope: !5, inlinedAt: !8)",
]


def test_inlined_header_code_has_the_line_of_its_call():
    metadata = Metadata(LINES)
    assert metadata.locate_for_user("!9") == ("!0", 7)
    assert metadata.locate_for_user("!8") == ("!0", 7)
    # Where nothing is the user's, it is what it is.
    assert metadata.locate_for_user("!7") == ("!2", 1)


def test_a_line_has_one_place_in_each_function():
    metadata = Metadata(LINES)
    places = Places(metadata, "!3")
    assert places.of("!9") == places.of("!8") == "!11"
    assert metadata.added == [
        "!10 = !DILexicalBlockFile(scope: !3, file: !0, discriminator: 0)",
        "!11 = !DILocation(line: 7, scope: !10)",
    ]
    other = places.of_function("walk")
    assert other.subprogram == "!12"
    assert other.of("!9") == "!14"
    assert metadata.added[2].startswith('!12 = distinct !DISubprogram(name: "walk", scope: !2')
    assert other.nowhere == "!DILocation(line: 0, scope: !12)"


def test_without_a_description_places_stay():
    places = Places(Metadata([]), "")
    assert places.of("!9") == "!9"
    assert places.nowhere == ""
    assert places.of_function("walk") is places


def test_files_of_ours():
    assert is_own("<metalbench>/mb/math.h")
    assert is_own("<metalbench>")
    assert not is_own("/usr/include/msl/mb/math.h")
    assert not is_own("kernels/math.metal")


def test_a_file_name_has_what_clang_cut_off():
    """Of a path that begins as the working directory does, clang keeps that as the folder."""
    metadata = Metadata(
        [
            '!0 = !DIFile(filename: "<metalbench>", directory: "/home/me/project")',
            "!1 = distinct !DICompileUnit(language: DW_LANG_C_plus_plus_14, file: !0)",
            '!2 = !DIFile(filename: "kernels/user.metal", directory: "/home/me")',
            '!3 = !DIFile(filename: "user.metal", directory: "/home/me/project")',
            '!4 = !DIFile(filename: "/elsewhere/user.metal", directory: "")',
        ]
    )
    assert metadata.file_name("!0") == "<metalbench>"
    assert metadata.file_name("!2") == "/home/me/kernels/user.metal"
    assert metadata.file_name("!3") == "user.metal"
    assert metadata.file_name("!4") == "/elsewhere/user.metal"
