"""Raises an exception whose message attacks the terminal and every file of results."""

ATTACK = (
    "\x1b]0;PWNED\x07\x1b[31mRED\x1b[0m <script>alert(1)</script><img src=x onerror=alert(2)> "
    "=cmd|'/C calc'!A0 ]]> \n::error file=a::INJECTED\n::add-mask::x \u202e rtl \x00 nul"
)


def relu(x):
    raise ValueError(ATTACK)
